"""Many are told of one change without holding the window."""

import gc
import itertools
import time
from collections.abc import Iterator

import pytest
import shiboken6
from PySide6.QtCore import QCoreApplication, QObject
from pytestqt.qtbot import QtBot

from app import listeners
from app.listeners import Listeners


class Hearer(QObject):
    """Keeps what it hears."""

    def __init__(self, heard: list[object], name: object) -> None:
        super().__init__()
        self.heard, self.name = heard, name

    def hear(self) -> None:
        """Write it down."""
        self.heard.append(self.name)


def test_all_hear_in_their_order(qapp) -> None:
    """What comes first on the screen must be able to come first."""
    heard: list[object] = []
    told, hearers = Listeners(), [Hearer(heard, n) for n in range(3)]
    for hearer in hearers:
        told.connect(hearer.hear)
    told.emit()
    assert heard == [0, 1, 2]
    told.disconnect(hearers[1].hear)
    told.emit()
    assert heard == [0, 1, 2, 0, 2]


def test_one_hears_per_turn_where_each_takes_long(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    """A change of colours in one go held the window for a tenth of a second."""
    monkeypatch.setattr(listeners, "TURN_SECONDS", 1e-9)
    heard: list[object] = []
    told, hearers = Listeners(), [Hearer(heard, n) for n in range(4)]
    for hearer in hearers:
        told.connect(hearer.hear)
    told.emit()
    assert heard == [0]
    qtbot.waitUntil(lambda: len(heard) == 4)
    assert heard == [0, 1, 2, 3]


def test_a_second_change_begins_anew(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever heard of the first change must hear of the second, and nobody twice."""
    monkeypatch.setattr(listeners, "TURN_SECONDS", 1e-9)
    heard: list[object] = []
    told, hearers = Listeners(), [Hearer(heard, n) for n in range(3)]
    for hearer in hearers:
        told.connect(hearer.hear)
    told.emit()
    told.emit()
    qtbot.waitUntil(lambda: len(heard) == 4)
    qtbot.wait(10)
    assert heard == [0, 0, 1, 2]


def test_the_dead_are_not_told(qapp) -> None:
    """Widgets go while the theme stays; it must neither keep them nor call into what Qt has deleted."""
    heard: list[object] = []
    told, stays, goes, deleted = Listeners(), Hearer(heard, "stays"), Hearer(heard, "goes"), Hearer(heard, "deleted")
    told.connect(goes.hear)
    told.connect(deleted.hear)
    told.connect(stays.hear)
    shiboken6.delete(deleted)
    del goes
    gc.collect()
    told.emit()
    assert heard == ["stays"]


def test_one_that_fails_keeps_nobody_from_hearing(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows are not drawn until all have heard: a fault in one would leave them blank."""
    heard: list[object] = []
    told, hearer, ended = Listeners(), Hearer(heard, "after"), []
    told.connect(lambda: 1 / 0)
    told.connect(hearer.hear)
    told.ended.connect(lambda: ended.append(1))
    with pytest.raises(ZeroDivisionError):
        told.emit()
    qtbot.waitUntil(lambda: ended == [1])
    assert heard == ["after"]


def test_the_end_comes_in_a_turn_of_its_own(qtbot: QtBot) -> None:
    """The window is drawn at the end: together with the last parts' restyling that held it for 55 ms."""
    heard: list[object] = []
    told, hearer = Listeners(), Hearer(heard, "hearer")
    told.connect(hearer.hear)
    told.ended.connect(lambda: heard.append("ended"))
    told.emit()
    assert heard == ["hearer"]
    told.emit()
    qtbot.waitUntil(lambda: "ended" in heard)
    assert heard == ["hearer", "hearer", "ended"]


class Slow(Hearer):
    """Needs three turns for a change."""

    def hear(self) -> Iterator[None]:  # type: ignore[override]
        """Write down each."""
        for step in range(3):
            self.heard.append((self.name, step))
            yield


def test_one_with_much_to_do_does_a_step_per_turn(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    """The style of a conversation and of its messages in one turn held the window for 25 ms."""
    monkeypatch.setattr(listeners, "TURN_SECONDS", 1e-9)
    heard: list[object] = []
    told, slow, after = Listeners(), Slow(heard, "slow"), Hearer(heard, "after")
    told.connect(slow.hear)
    told.connect(after.hear)
    told.ended.connect(lambda: heard.append("ended"))
    told.emit()
    lengths = [len(heard)]
    until = time.monotonic() + 5
    while "ended" not in heard and time.monotonic() < until:
        QCoreApplication.processEvents()
        lengths.append(len(heard))
    assert heard == [("slow", 0), ("slow", 1), ("slow", 2), "after", "ended"]
    assert max(b - a for a, b in itertools.pairwise([0, *lengths])) == 1


def test_a_second_change_begins_its_steps_anew(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    """The steps left over from the first change would show half of each."""
    monkeypatch.setattr(listeners, "TURN_SECONDS", 1e-9)
    heard: list[object] = []
    told, slow = Listeners(), Slow(heard, "slow")
    told.connect(slow.hear)
    told.emit()
    told.emit()
    qtbot.waitUntil(lambda: len(heard) == 4)
    qtbot.wait(10)
    assert heard == [("slow", 0), ("slow", 0), ("slow", 1), ("slow", 2)]


def test_one_that_goes_between_its_steps_is_not_told_on(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page may be closed while it takes the new colours."""
    monkeypatch.setattr(listeners, "TURN_SECONDS", 1e-9)
    heard: list[object] = []
    told, slow, after = Listeners(), Slow(heard, "slow"), Hearer(heard, "after")
    told.connect(slow.hear)
    told.connect(after.hear)
    told.emit()
    shiboken6.delete(slow)
    qtbot.waitUntil(lambda: "after" in heard)
    assert heard == [("slow", 0), "after"]
