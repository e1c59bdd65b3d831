"""The parts of one thing, each in a turn of the event loop of its own."""

from functools import partial

from PySide6.QtCore import QTimer

from app.one_by_one import OneByOne


def test_one_part_per_turn(qtbot):
    """Two parts in one turn hold the window as long as if they were one."""
    heard, parts = [], OneByOne()
    beat = QTimer(interval=0)
    beat.timeout.connect(lambda: heard.append("turn"))
    beat.start()
    parts.begin(*(partial(heard.append, n) for n in range(3)))
    assert heard == []
    qtbot.waitUntil(lambda: 2 in heard)
    for n in range(2):
        assert "turn" in heard[heard.index(n) : heard.index(n + 1)]


def test_another_thing_drops_what_is_left(qtbot):
    """A chat that was left at once must not come back with its rounds."""
    heard, parts = [], OneByOne()
    parts.begin(partial(heard.append, "a"), partial(heard.append, "never"))
    parts.begin(lambda: parts.begin(partial(heard.append, "b")), partial(heard.append, "never"))
    qtbot.waitUntil(lambda: "b" in heard)
    qtbot.wait(10)
    assert heard == ["b"]


def test_finish_does_the_rest_at_once(qtbot):
    """What is seen first must be whole."""
    heard, parts = [], OneByOne()
    parts.begin(partial(heard.append, "a"), partial(heard.append, "b"))
    parts.finish()
    assert heard == ["a", "b"]
    qtbot.wait(10)
    assert heard == ["a", "b"]
