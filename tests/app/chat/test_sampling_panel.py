import pytest
from PySide6.QtTest import QTest

from app.chat.fields import escape, unescape
from app.chat.sampling_panel import LABELS, SamplingPanel, check_sampling
from app.panels import SETTINGS_WIDTH
from app.theme import theme
from engine import CHAT_SAMPLING, RANGES, ConfigError, SamplingConfig

CHANGED = {
    "temperature": 0.7, "top_k": 5, "top_p": 0.5, "min_p": 0.1, "repetition_penalty": 1.2,
    "seed": 2**62, "max_new_tokens": 99, "stop": ["END", "a\nb"],
}  # fmt: skip


@pytest.fixture
def panel(qtbot) -> SamplingPanel:
    """A panel with the engine's defaults."""
    made = SamplingPanel()
    qtbot.addWidget(made)
    return made


def test_only_what_differs_is_kept(qtbot, panel: SamplingPanel) -> None:
    """A chat stores its changes, so a better default reaches it later; the engine gets everything."""
    assert panel.values() == {}
    with qtbot.waitSignal(panel.sampling_changed) as caught:
        for name, value in CHANGED.items():
            panel.fields[name].set_value(value)
    assert caught.args == [CHANGED]
    sampling = panel.sampling()
    assert (sampling.temperature, sampling.seed, sampling.stop) == (0.7, 2**62, ("END", "a\nb"))
    assert panel.max_new_tokens() == 99
    panel.load("", {})
    assert panel.sampling() == CHAT_SAMPLING
    panel.load("", CHANGED)
    assert panel.values() == CHANGED


@pytest.mark.parametrize("name", list(LABELS))
def test_each_field_has_its_reset(panel: SamplingPanel, name: str) -> None:
    """Reset is there exactly when there is something to reset, and touches one field."""
    panel.load("", CHANGED)
    field = panel.fields[name]
    assert field.reset_button.isEnabled()
    field.reset_button.click()
    assert not field.reset_button.isEnabled()
    assert panel.values() == {k: v for k, v in CHANGED.items() if k != name}


@pytest.mark.parametrize("name", [n for n in LABELS if n in RANGES])
def test_ranges_are_the_engines(panel: SamplingPanel, name: str) -> None:
    """A field takes what the engine takes, and says the range."""
    field, limits = panel.fields[name], RANGES[name]
    assert limits.help in field.widget.toolTip()
    if name == "seed":
        field.set_value(0)
        field.line.clear()
        QTest.keyClicks(field.line, str(2**63 - 1) + "9" + "-x")
        assert field.value() == 2**63 - 1
    else:
        assert (field.box.minimum(), field.box.maximum()) == (limits.low, limits.high)


def test_nothing_is_cut_in_the_narrow_column(panel: SamplingPanel) -> None:
    """The panel stands below the chat list, with a scroll bar beside it."""
    assert panel.minimumSizeHint().width() <= SETTINGS_WIDTH - 20
    line = panel.fields["seed"].line
    panel.resize(SETTINGS_WIDTH - 20, 700)
    panel.show()
    assert line.fontMetrics().horizontalAdvance(line.placeholderText()) <= line.width() - 8


def test_every_reply_has_a_seed_of_its_own(panel: SamplingPanel) -> None:
    """Regenerate would give the same text again otherwise; a seed that was typed stays, and greedy needs none."""
    seeds = {panel.sampling_of_reply().seed for _ in range(20)}
    assert len(seeds) > 15
    assert panel.values() == {}
    assert "random" in panel.fields["seed"].line.placeholderText()
    panel.fields["seed"].set_value(7)
    assert panel.sampling_of_reply().seed == 7
    panel.fields["seed"].reset_button.click()
    assert panel.values() == {}
    panel.fields["temperature"].set_value(0)
    assert panel.sampling_of_reply() == panel.sampling()


def test_unusable_stored_values_show_as_defaults(panel: SamplingPanel) -> None:
    """A chat from a hand-made file opens; its good values are kept."""
    panel.load("", {"temperature": 99, "top_k": "many", "stop": [1], "top_p": 0.5, "unknown": 1, "seed": None})
    assert panel.values() == {"top_p": 0.5}


def test_imports_are_checked_by_the_engines_rules() -> None:
    """The sentence names key, value and range."""
    check_sampling(CHANGED)
    with pytest.raises(ConfigError, match=r"temperature is 99.*0 to 5"):
        check_sampling({"temperature": 99})
    with pytest.raises(ConfigError, match="Unknown setting"):
        check_sampling({"temprature": 1})
    with pytest.raises(ConfigError, match="max_new_tokens"):
        check_sampling({"max_new_tokens": 0})


def test_new_defaults_keep_what_the_chat_chose(panel: SamplingPanel) -> None:
    """Another model's defaults apply where the chat has no value of its own."""
    panel.fields["temperature"].set_value(0.7)
    panel.set_defaults(SamplingConfig(temperature=0.2, top_k=7), 50)
    assert panel.values() == {"temperature": 0.7}
    assert (panel.sampling().top_k, panel.max_new_tokens()) == (7, 50)
    assert "0.2" in panel.fields["temperature"].reset_button.toolTip()


def test_the_prompt_is_said_a_moment_after_typing_and_before_leaving(qtbot, panel: SamplingPanel) -> None:
    """No write per key; none is lost when another chat is opened at once."""
    said: list[str] = []
    panel.prompt_changed.connect(said.append)
    QTest.keyClicks(panel.prompt, "Be brief.")
    assert said == []
    panel.flush()
    assert said == ["Be brief."]
    panel.prompt_reset.click()
    qtbot.waitUntil(lambda: said == ["Be brief.", ""], timeout=2000)
    panel.load("other", {})
    qtbot.wait(500)
    assert said == ["Be brief.", ""]


def test_values_without_effect_are_marked_not_forbidden(panel: SamplingPanel) -> None:
    """At temperature 0 the sampling cuts do nothing; that is said."""
    panel.fields["temperature"].set_value(0)
    assert "No effect at temperature 0" in panel.fields["top_k"].widget.toolTip()
    assert panel.fields["top_k"].widget.isEnabled()
    panel.fields["temperature"].set_value(1)
    assert "No effect" not in panel.fields["top_k"].widget.toolTip()


@pytest.mark.parametrize("text", ["plain", "a\nb", "tab\t", "back\\slash", "\\n literal", "\\", "\\\\n"])
def test_stop_strings_survive_the_field(text: str) -> None:
    """What is typed per line and what the engine gets are each other's inverse."""
    assert unescape(escape(text)) == text
    assert "\n" not in escape(text)


def test_fields_follow_the_text_size(qtbot, panel: SamplingPanel) -> None:
    """Also those that say by their look that they have no effect: Qt leaves what has a style sheet at the old size."""
    panel.show()
    for temperature in (0.5, 0.0):
        panel.fields["temperature"].set_value(temperature)
        for size in (15.0, 9.0):
            theme().set_font_size(size)
            fields = [field.widget for name, field in panel.fields.items() if name != "stop"]
            qtbot.waitUntil(lambda s=size, found=fields: {field.font().pointSizeF() for field in found} == {s})
