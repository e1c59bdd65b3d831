"""A window that gets another size is laid out in one turn of the event loop and drawn in the next.

Qt does both in one, which is twice as long as what is pressed meanwhile has to wait. Knows nothing of what it shows.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QWidget

from app.held_pictures import HELD, request_picture
from app.own_turn import OwnTurn

GAP_MS = 1


class ResizeTurns(QObject):
    """Watches `window`. A window that something else holds undrawn stays with it, and so does one nobody sees."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self._draw = OwnTurn(self, GAP_MS)
        self._draw.due.connect(self._release)
        window.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """The attribute of the window alone keeps Qt from drawing; its parts note what is to be drawn as ever."""
        window = self._window
        if event.type() == QEvent.Type.Resize and watched is window and window.isVisible() and window.updatesEnabled():
            window.setAttribute(HELD)
            self._draw.start()
        return False

    def _release(self) -> None:
        self._window.setAttribute(HELD, False)
        self._window.update()
        request_picture(self._window)
