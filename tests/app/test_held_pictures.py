"""Windows are drawn once for many changes, and they are drawn."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget
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
