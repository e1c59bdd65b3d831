"""Tells when a window has been painted for the first time: what it does not need for that may begin."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QTimer, Signal
from PySide6.QtWidgets import QWidget

PATIENCE_MS = 1000  # a window that nobody sees, a minimised one for instance, is not painted at all


class FirstPaint(QObject):
    """Watches one widget; a child of it.

    Signals:
        done(): it is on the screen with all that is in it, or was not painted within PATIENCE_MS. Comes once.
    """

    done = Signal()

    def __init__(self, widget: QWidget) -> None:
        super().__init__(widget)
        self._widget = widget
        self._patience = QTimer(self, interval=PATIENCE_MS, singleShot=True)
        self._patience.timeout.connect(self._end)
        self._patience.start()
        widget.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """See the painting; stop nothing."""
        if event.type() == QEvent.Type.Paint:
            self._widget.removeEventFilter(self)
            self._patience.start(0)  # what is in the widget is painted before the next turn of the event loop
        return False

    def _end(self) -> None:
        self._widget.removeEventFilter(self)
        self.done.emit()
