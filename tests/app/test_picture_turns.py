"""What takes long and the picture of it come in two turns of the event loop, and the picture comes."""

from __future__ import annotations

import time

import pytest
from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtWidgets import QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from app import own_turn
from app.held_pictures import HeldPictures
from app.picture_turns import PictureTurns


class Noted(QWidget):
    """Writes down what happens to it."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.happened: list[str] = []

    def resizeEvent(self, event: object) -> None:  # noqa: N802
        """Laid out."""
        self.happened.append("laid out")

    def paintEvent(self, event: object) -> None:  # noqa: N802
        """Drawn."""
        self.happened.append("drawn")


@pytest.fixture
def noted(qtbot: QtBot) -> Noted:
    """In a window that is on the screen and drawn."""
    window = QWidget()
    window.turns = PictureTurns(window)  # type: ignore[attr-defined]
    part = Noted(window)
    QVBoxLayout(window).addWidget(part)
    qtbot.addWidget(window)
    window.resize(300, 200)
    with qtbot.waitExposed(window):
        window.show()
    qtbot.waitUntil(lambda: "drawn" in part.happened)
    qtbot.wait(20)
    part.happened.clear()
    return part


def test_layout_and_picture_come_in_two_turns(qtbot: QtBot, noted: Noted) -> None:
    """Together they held the window for 50 to 66 ms while the default model streamed."""
    noted.window().resize(340, 240)
    QCoreApplication.sendPostedEvents()
    assert noted.happened == ["laid out"]
    qtbot.waitUntil(lambda: "drawn" in noted.happened)
    qtbot.wait(20)
    assert noted.happened == ["laid out", "drawn"]


def test_what_asks_to_be_drawn_meanwhile_is_drawn_and_so_is_what_asks_later(qtbot: QtBot, noted: Noted) -> None:
    """A window that stays held would stand still for good."""
    window = noted.window()
    for step in range(3):
        window.resize(340 + step, 240)
        noted.update()
        QCoreApplication.processEvents()
    qtbot.waitUntil(window.updatesEnabled)
    qtbot.waitUntil(lambda: noted.happened[-1:] == ["drawn"])
    assert not window.testAttribute(Qt.WidgetAttribute.WA_UpdatesDisabled)
    noted.happened.clear()
    noted.update()
    qtbot.waitUntil(lambda: noted.happened == ["drawn"])


def test_a_window_that_is_held_for_its_colours_is_not_drawn_for_its_size(qtbot: QtBot, noted: Noted) -> None:
    """Half of it would be seen in the old colours."""
    held = HeldPictures()
    held.hold()
    noted.window().resize(340, 240)
    qtbot.wait(30)
    assert noted.happened == ["laid out"]
    held.release()
    qtbot.waitUntil(lambda: "drawn" in noted.happened)


def test_a_window_that_is_held_for_its_size_is_drawn_after_its_colours(qtbot: QtBot, noted: Noted) -> None:
    """The other order: the colours begin between layout and picture."""
    held = HeldPictures()
    noted.window().resize(340, 240)
    held.hold()
    held.release()
    qtbot.waitUntil(lambda: "drawn" in noted.happened)
    qtbot.waitUntil(noted.window().updatesEnabled)


def long_work() -> None:
    """What has just taken long, as far as the event loop knows."""
    own_turn.done(own_turn.clock() - 0.01)


def test_the_picture_comes_a_turn_after_something_long(qtbot: QtBot, noted: Noted) -> None:
    """A chat of 500 messages was read and drawn in one turn, 45 to 65 ms while the default model streamed."""
    noted.update()
    long_work()
    QCoreApplication.sendPostedEvents()
    assert noted.happened == []
    qtbot.waitUntil(lambda: noted.happened == ["drawn"])
    qtbot.wait(20)
    assert noted.happened == ["drawn"]


def test_the_picture_comes_at_once_after_something_short(qtbot: QtBot, noted: Noted) -> None:
    """Waiting is for what holds the window; each streamed word would come later."""
    noted.update()
    own_turn.done(own_turn.clock() - 0.004)
    QCoreApplication.sendPostedEvents()
    assert noted.happened == ["drawn"]


def test_a_picture_waits_once(qtbot: QtBot, noted: Noted) -> None:
    """In a window where something long follows on something long nothing would be seen."""
    turns = []
    for _ in range(40):
        noted.update()
        long_work()
        QCoreApplication.processEvents()
        turns.append(len(noted.happened))
        time.sleep(0.001)
    assert turns[-1] >= 10


def test_a_new_size_while_a_picture_waits(qtbot: QtBot, noted: Noted) -> None:
    """Neither keeps the other from being drawn."""
    noted.update()
    long_work()
    QCoreApplication.sendPostedEvents()
    noted.window().resize(350, 250)
    QCoreApplication.sendPostedEvents()
    assert noted.happened == ["laid out"]
    qtbot.waitUntil(lambda: noted.happened == ["laid out", "drawn"])
    assert noted.window().updatesEnabled()


def test_what_can_wait_comes_a_turn_after_the_picture(
    qtbot: QtBot, noted: Noted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The picture of the whole window takes 12 ms by itself."""
    draw = noted.paintEvent
    monkeypatch.setattr(noted, "paintEvent", lambda event: (time.sleep(own_turn.DEAR), draw(event)))
    noted.update()
    QCoreApplication.sendPostedEvents()
    assert noted.happened == ["drawn"]
    assert own_turn.crowded()
