"""The rate limit: prompt at the beginning, and the last call always counts."""

from PySide6.QtCore import QObject

from app.throttle import Throttle


def test_first_now_later_together_last_never_lost(qtbot):
    """Without the trailing run the last round of a reply would be missing in the plots."""
    owner, seen, asked = QObject(), [], []
    throttle = Throttle(lambda: seen.append(len(asked)), 60, owner)
    for _ in range(5):
        asked.append(1)
        throttle()
    assert seen == [1]
    qtbot.waitUntil(lambda: seen == [1, 5])
    qtbot.wait(90)
    assert seen == [1, 5]
    asked.append(1)
    throttle()
    assert seen == [1, 5, 6]


def test_flush_and_cancel(qtbot):
    """At the end of a turn the view is brought up to date at once; a cleared view wants nothing any more."""
    owner, seen = QObject(), []
    throttle = Throttle(lambda: seen.append(1), 60, owner)
    throttle()
    throttle()
    throttle.flush()
    assert len(seen) == 2
    throttle()
    throttle.cancel()
    qtbot.wait(90)
    assert len(seen) == 2


def test_hold_makes_the_first_run_wait(qtbot):
    """Where nothing can have happened yet, the first run would only cost time."""
    owner, seen = QObject(), []
    throttle = Throttle(lambda: seen.append(1), 60_000, owner)
    throttle.hold(60)
    throttle()
    assert seen == []
    qtbot.waitUntil(lambda: seen == [1])
