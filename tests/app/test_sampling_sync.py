"""The sliders and the conversation's own fields show the same values."""

from app.chat.sampling_panel import SamplingPanel
from app.engine_settings import EngineSettings
from app.sampling_sync import SamplingSync


def test_opening_a_conversation_tells_the_sliders_once(qtbot):
    """Each telling styles and counts anew: field by field they would hold the window for many pictures."""
    panel, settings = SamplingPanel(), EngineSettings()
    qtbot.addWidget(panel)
    sync, told = SamplingSync(panel, settings), []
    settings.sampling_changed.connect(told.append)
    panel.load("", {"temperature": 1.5, "top_k": 7, "top_p": 0.5, "min_p": 0.25})
    assert told == []
    sync.pull()
    assert [(s.temperature, s.top_k, s.top_p, s.min_p) for s in told] == [(1.5, 7, 0.5, 0.25)]


def test_a_field_that_is_edited_moves_its_slider(qtbot):
    """And the other way round, at once."""
    panel, settings = SamplingPanel(), EngineSettings()
    qtbot.addWidget(panel)
    sync = SamplingSync(panel, settings)
    panel.fields["temperature"].set_value(1.25)
    assert settings.sampling.temperature == 1.25
    settings.set_value("top_k", 9)
    assert panel.fields["top_k"].value() == 9
    assert sync is not None
