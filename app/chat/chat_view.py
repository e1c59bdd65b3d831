"""The list widget of the chats: look, keys, context menu. Decides nothing."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QAbstractItemView, QFrame, QListWidget, QListWidgetItem

from app.chat.chat_delegate import ChatDelegate
from app.chat.chat_rows import Told, chat_row, mark_running, tell_chat, told
from app.store import Chat


class ChatView(QListWidget):
    """Rows of `app/chat/chat_rows.py`.

    What the rows of chats say is known here as well: each call of Qt lets other threads run, and where one of them is
    busy, asking hundreds of rows again takes ten times as long.

    Signals:
        delete_wanted, undo_wanted: Del and Ctrl+Z.
        menu_wanted: for this row, at this place on the screen.
    """

    delete_wanted = Signal()
    undo_wanted = Signal()
    menu_wanted = Signal(object, QPoint)

    def __init__(self) -> None:
        super().__init__()
        self._chats: list[int] = []  # by row; none while search hits are shown
        self._rows: dict[int, QListWidgetItem] = {}
        self._told: dict[int, Told] = {}
        self._running = 0
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

    def row_of(self, chat: int) -> QListWidgetItem | None:
        """The row of a chat, where chats are shown."""
        return self._rows.get(chat)

    def show_chats(self, chats: Sequence[Chat]) -> None:
        """These and no others, in this order; rows that are there are kept and written anew only where they differ."""
        if not self._chats:
            self.clear()
        wanted = {chat.id for chat in chats}
        for number in reversed(range(len(self._chats))):
            if self._chats[number] not in wanted:
                gone = self._take(number)
                del self._rows[gone]
                self._told.pop(gone, None)
        for number, chat in enumerate(chats):
            if self._chats[number : number + 1] != [chat.id]:
                self._put(number, chat.id)
            words = told(chat)
            if self._told.get(chat.id) != words:
                self._told[chat.id] = words
                tell_chat(self._rows[chat.id], chat)

    def set_running(self, chat: int) -> None:
        """Mark the chat whose reply is being made; 0 for none."""
        before, self._running = self._running, chat
        for changed in {before, chat} if before != chat else ():
            if changed in self._rows:
                mark_running(self._rows[changed], changed == chat)

    def tell_again(self, chat: int) -> None:
        """The row says something else than it was told: what is stored is written when the chats are next shown."""
        self._told.pop(chat, None)

    def clear(self) -> None:
        """No rows."""
        super().clear()
        self._chats, self._rows, self._told = [], {}, {}

    def _take(self, number: int) -> int:
        """Take a row out of the list; returns its chat."""
        self.takeItem(number)
        return self._chats.pop(number)

    def _put(self, number: int, chat: int) -> None:
        """Have the row of a chat here: from further down, or a new one."""
        if chat in self._rows:
            self._take(self._chats.index(chat))
        else:
            self._rows[chat] = chat_row(chat, self._running)
        self.insertItem(number, self._rows[chat])
        self._chats.insert(number, chat)

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
