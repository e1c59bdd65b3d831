"""Windows are drawn once for many changes, and they are drawn."""

from __future__ import annotations

import time

import pytest
from PySide6.QtCore import QCoreApplication
from PySide6.QtWidgets import QHBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from app.held_pictures import HeldPictures


class Drawn(QWidget):
    """Counts how often it is drawn."""

    times = 0

    def paintEvent(self, event: object) -> None:  # noqa: N802
        """Count."""
        self.times += 1


def test_a_window_that_was_resized_meanwhile_is_drawn(qtbot: QtBot) -> None:
    """Its picture stood still from then on: Qt waited for a request to draw that had come while it was held."""
    window, held = Drawn(), HeldPictures()
    qtbot.addWidget(window)
    window.resize(300, 200)
    with qtbot.waitExposed(window):
        window.show()
    qtbot.waitUntil(lambda: window.times > 0)
    window.update()  # asked for, and not drawn yet
    window.resize(320, 240)
    held.hold()
    before = window.times
    qtbot.wait(50)
    assert window.times == before
    held.release()
    qtbot.waitUntil(lambda: window.times == before + 1, timeout=1000)
    qtbot.wait(50)
    assert window.times == before + 1
    window.update()
    qtbot.waitUntil(lambda: window.times == before + 2, timeout=1000)


class InParts(QWidget):
    """A window that names two parts, beside a third thing, in a row."""

    def __init__(self) -> None:
        super().__init__()
        self.box, self.drawn = QWidget(self), []
        row = QHBoxLayout(self.box)
        self.parts = [Part(self, "first"), Part(self, "second"), Part(self, "third")]
        for part in self.parts:
            row.addWidget(part)
        outer = QHBoxLayout(self)
        outer.addWidget(self.box)
        self.resize(300, 100)

    def picture_parts(self) -> list[list[QWidget]]:
        """All but the third."""
        return [[self.parts[1]], [self.parts[0]]]


class Part(QWidget):
    """Writes down when it is drawn."""

    def __init__(self, window: InParts, name: str) -> None:
        super().__init__()
        self.owner, self.name = window, name

    def paintEvent(self, event: object) -> None:  # noqa: N802
        """Write it down, with the turn of the event loop."""
        self.owner.drawn.append(self.name)


@pytest.fixture
def in_parts(qtbot: QtBot) -> InParts:
    """The window, drawn."""
    window = InParts()
    qtbot.addWidget(window)
    with qtbot.waitExposed(window):
        window.show()
    qtbot.waitUntil(lambda: len(window.drawn) >= 3)
    qtbot.wait(20)
    window.drawn.clear()
    return window


def test_parts_are_drawn_one_per_turn_and_each_once(qtbot: QtBot, in_parts: InParts) -> None:
    """The picture of the whole window held it for 30 to 45 ms while the default model streamed."""
    window, held, turns = in_parts, HeldPictures(), []
    held.hold()
    held.hold()
    for part in window.parts:
        part.update()
    qtbot.wait(30)
    assert window.drawn == []
    held.release()
    until = time.monotonic() + 5
    while len(window.drawn) < 3 and time.monotonic() < until:
        before = len(window.drawn)
        QCoreApplication.processEvents()
        turns.append(len(window.drawn) - before)
    qtbot.wait(50)
    assert window.drawn == ["second", "first", "third"]
    assert max(turns) == 1


def test_all_can_be_drawn_again_after_parts(qtbot: QtBot, in_parts: InParts) -> None:
    """A part that stayed held would be a hole in the window."""
    window, held = in_parts, HeldPictures()
    held.hold()
    held.release()
    qtbot.waitUntil(lambda: len(window.drawn) == 3)
    assert all(widget.updatesEnabled() for widget in [window, *window.findChildren(QWidget)])
    window.update()
    qtbot.waitUntil(lambda: len(window.drawn) == 6)


def test_a_second_change_while_parts_are_drawn_leaves_none_out(qtbot: QtBot, in_parts: InParts) -> None:
    """Text made larger by keys that repeat."""
    window, held = in_parts, HeldPictures()
    held.hold()
    held.release()
    until = time.monotonic() + 5
    while not window.drawn and time.monotonic() < until:
        QCoreApplication.processEvents()
    assert window.drawn == ["second"]
    held.hold()
    assert not window.updatesEnabled()
    held.release()
    qtbot.waitUntil(lambda: window.drawn[-3:] == ["second", "first", "third"])
    assert all(widget.updatesEnabled() for widget in window.findChildren(QWidget))


def test_what_holds_itself_stays_held(qtbot: QtBot, in_parts: InParts) -> None:
    """A chart that keeps its picture must not be drawn for a change of colours."""
    window, held = in_parts, HeldPictures()
    window.parts[2].setUpdatesEnabled(False)
    held.hold()
    held.release()
    qtbot.waitUntil(lambda: len(window.drawn) == 2)
    qtbot.wait(30)
    assert not window.parts[2].updatesEnabled()
    assert "third" not in window.drawn
