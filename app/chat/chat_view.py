"""The list widget of the chats: look, keys, context menu. Decides nothing."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QAbstractItemView, QFrame, QListWidget, QListWidgetItem

from app.chat.chat_delegate import ChatDelegate
from app.chat.chat_rows import CHAT, chat_row, is_hit, tell_chat
from app.store import Chat


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
        self.setUniformItemSizes(True)  # or hundreds of rows are asked for their height again and again
        self.setMouseTracking(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setEditTriggers(QAbstractItemView.EditTrigger.EditKeyPressed)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.viewport().setAutoFillBackground(False)  # a style sheet would paint the scroll bar's groove black
        self.customContextMenuRequested.connect(self._menu)

    def rows(self) -> list[QListWidgetItem]:
        """All rows."""
        return [self.item(n) for n in range(self.count())]

    def show_chats(self, chats: Sequence[Chat], running: int) -> None:
        """These and no others, in this order; rows that are there are kept and written anew only where they differ."""
        if self.count() and is_hit(self.item(0)):
            self.clear()
        wanted = {chat.id for chat in chats}
        for number in reversed(range(self.count())):
            if self.item(number).data(CHAT) not in wanted:
                self.takeItem(number)
        known = {row.data(CHAT): row for row in self.rows()}
        for number, chat in enumerate(chats):
            row = known.get(chat.id) or chat_row(chat)
            here = self.item(number)
            if here is None or here.data(CHAT) != chat.id:
                if chat.id in known:
                    self.takeItem(self.row(row))
                self.insertItem(number, row)
            tell_chat(row, chat, running)

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
