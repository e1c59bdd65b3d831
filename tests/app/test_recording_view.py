"""A recorded run in the middle of the window."""

from __future__ import annotations

from app.recording_view import RecordingView
from app.selection import Selection
from tests.fake_turn import fake_turn


def test_it_opens_at_its_very_beginning(qtbot, on_screen):
    """A long one was scrolled down by a few pixels, and its first line was cut."""
    view = on_screen(RecordingView(Selection()), 400, 260)
    bar = view.view.flow.verticalScrollBar()
    for seed in (3, 4):
        view.show_turn(fake_turn(seed, rounds=60), "recorded")
        qtbot.waitUntil(lambda: bar.maximum() > 100)
        qtbot.wait(50)
        assert bar.value() == 0
        bar.setValue(bar.maximum())
