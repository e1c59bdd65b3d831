"""The list widget of the chats: look, keys, context menu. Decides nothing."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QAbstractItemView, QFrame, QListWidget, QListWidgetItem

from app.chat.chat_delegate import ChatDelegate


class ChatView(QListWidget):
    """Rows of `app/chat/chat_rows.py`.

    Signals:
        delete_wanted, undo_wanted: Del and Ctrl+Z.
        menu_wanted: for this row, at this place on the screen.
    """

    delete_wanted = Signal()
    undo_wanted = Signal()
    menu_wanted = Signal(object, QPoint)

    def __init__(self) -> None:
        super().__init__()
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setAccessibleName("Chats")
        self.setItemDelegate(ChatDelegate(self))
        self.setMouseTracking(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setEditTriggers(QAbstractItemView.EditTrigger.EditKeyPressed)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.setStyleSheet("QListWidget { background: transparent; }")
        self.customContextMenuRequested.connect(self._menu)

    def rows(self) -> list[QListWidgetItem]:
        """All rows."""
        return [self.item(n) for n in range(self.count())]

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Keys of this widget."""
        if event.key() == Qt.Key.Key_Delete:
            self.delete_wanted.emit()
        elif event.key() == Qt.Key.Key_Z and event.modifiers() == Qt.KeyboardModifier.ControlModifier:
            self.undo_wanted.emit()
        else:
            super().keyPressEvent(event)

    def _menu(self, point: QPoint) -> None:
        row = self.itemAt(point)
        if row is not None:
            self.menu_wanted.emit(row, self.viewport().mapToGlobal(point))
