"""A window is drawn in a turn of the event loop after the one in which it got another size or something took long, and
what can wait comes in a turn after that.

Qt does all in one, which is twice as long as what is pressed meanwhile has to wait. Knows nothing of what it shows.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QTimer
from PySide6.QtWidgets import QWidget

from app.held_pictures import HELD, request_picture
from app.one_by_one import TURN_SECONDS
from app.own_turn import counted, crowded

GAP_MS = 1


class PictureTurns(QObject):
    """Watches `window`. A window that something else holds undrawn stays with it, and so does one nobody sees."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self._draw = QTimer(self, interval=GAP_MS, singleShot=True)
        self._draw.timeout.connect(self._release)
        self._resized = self._waited = False
        window.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Keeps Qt from drawing for a moment; the window's parts note what is to be drawn as ever."""
        if watched is self._window:
            if event.type() == QEvent.Type.Resize and self._window.isVisible() and self._window.updatesEnabled():
                self._resized = True
                self._window.setAttribute(HELD)  # Qt draws at once, without asking
                self._draw.start()
            elif event.type() == QEvent.Type.UpdateRequest:
                if not self._waits():
                    with counted():
                        self._window.event(event)
                return True
        return False

    def _waits(self) -> bool:
        """Whether this request is made again in a later turn; the second one never waits."""
        self._waited = not self._waited and crowded(TURN_SECONDS)
        if self._waited:
            self._draw.start()
        return self._waited

    def _release(self) -> None:
        if self._resized:
            self._resized = False
            self._window.setAttribute(HELD, False)
            self._window.update()
        request_picture(self._window)
