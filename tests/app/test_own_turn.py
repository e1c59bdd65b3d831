"""Dear calls of different parts do not meet in one turn of the event loop."""

from __future__ import annotations

from functools import partial

import pytest
from PySide6.QtCore import QTimer
from pytestqt.qtbot import QtBot

from app import own_turn
from app.own_turn import OwnTurn


class Clock:
    """A clock that stands still unless it is turned."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """In place of the real one."""
    made = Clock()
    monkeypatch.setattr(own_turn, "clock", made)
    monkeypatch.setattr(own_turn, "_last", [0.0, 0.0])
    return made


def test_dear_calls_that_are_due_together_get_turns_of_their_own(qtbot: QtBot, clock: Clock) -> None:
    """Messages, charts and a change of text size, 10 to 15 ms each, came one after the other and held the window."""
    called: list[str] = []

    def call(name: str) -> None:
        called.append(name)
        clock.now += 0.01

    timers = [OwnTurn(None, 0) for _ in range(2)]
    for timer, name in zip(timers, ("first", "second"), strict=True):
        timer.due.connect(partial(call, name))
        timer.start()
    qtbot.wait(own_turn.REST_MS * 3)
    assert called == ["first"]
    assert timers[1].isActive()
    clock.now += 0.01  # the turn is over
    qtbot.waitUntil(lambda: called == ["first", "second"])
    assert not any(timer.isActive() for timer in timers)


def test_cheap_calls_share_a_turn(qtbot: QtBot, clock: Clock) -> None:
    """Waiting for another turn costs more than they do."""
    called: list[int] = []
    timers = [OwnTurn(None, 0) for _ in range(3)]
    for number, timer in enumerate(timers):
        timer.due.connect(partial(called.append, number))
        timer.start()
    qtbot.waitUntil(lambda: called == [0, 1, 2])
    assert not any(timer.isActive() for timer in timers)


def test_one_that_waits_can_be_stopped(qtbot: QtBot, clock: Clock) -> None:
    """A page that closes must not hear of what it asked for before."""
    called: list[int] = []
    own_turn.done(clock.now - 1)
    timer = OwnTurn(None, 0)
    timer.due.connect(partial(called.append, 1))
    timer.start()
    qtbot.wait(10)
    timer.stop()
    clock.now += 1
    qtbot.wait(10)
    assert not called


def test_none_waits_for_good(qtbot: QtBot, clock: Clock) -> None:
    """Where every turn of the event loop has something dear, as on a slow machine, what waits still comes."""
    called: list[int] = []
    timer, busy = OwnTurn(None, 0), QTimer(interval=0)
    timer.due.connect(lambda: called.append(1))
    busy.timeout.connect(lambda: own_turn.done(clock.now - 1))
    busy.start()
    timer.start()
    qtbot.waitUntil(lambda: called == [1], timeout=1000)
    busy.stop()
