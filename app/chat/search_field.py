"""The field above the chat list: words to search for, a moment after the last key. Finds nothing itself."""

from __future__ import annotations

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QLineEdit

SEARCH_MS = 150


class SearchField(QLineEdit):
    """Signals:
    searched: the words changed a moment ago.
    entered: Down or Enter was pressed: on to what was found.
    """

    searched = Signal()
    entered = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setPlaceholderText("Search")
        self.setAccessibleName("Search all chats")
        self.setClearButtonEnabled(True)
        self._timer = QTimer(self, interval=SEARCH_MS, singleShot=True)
        self._timer.timeout.connect(self.searched)
        self.textChanged.connect(self._changed)

    @property
    def words(self) -> str:
        """What is searched for."""
        return self.text().strip()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Keys of this widget."""
        if event.key() == Qt.Key.Key_Escape and self.text():
            self.clear()
        elif event.key() in (Qt.Key.Key_Down, Qt.Key.Key_Return, Qt.Key.Key_Enter):
            if self._timer.isActive():
                self._timer.stop()
                self.searched.emit()
            self.entered.emit()
        else:
            super().keyPressEvent(event)

    def _changed(self) -> None:
        self._timer.start()
