"""The conversations: list, search over all of them, new, rename, duplicate, delete with undo. Works on the store."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from PySide6.QtCore import QPoint, Qt, QTimer, Signal
from PySide6.QtWidgets import QListWidgetItem, QWidget

from app.chat.chat_menu import chat_menu
from app.chat.chat_rows import CHAT, MESSAGE, hit_row, is_hit
from app.chat.chat_search import ChatSearch
from app.chat.chat_side import ChatSide
from app.store import Chat, Hit, Store, StoreError
from app.writer import Writer


class ChatList(ChatSide):
    """The panel on the left.

    Signals:
        chosen: show this chat.
        hit_chosen: show this chat at this message (0: its title matched), and these words in it.
        deleted: a chat left the list; it can be undone.
        export_wanted: a chat, and "md" or "json".
        import_wanted: a conversation file is to be chosen.
        problem: one sentence.
    """

    chosen = Signal(int)
    hit_chosen = Signal(int, int, str)
    deleted = Signal(int)
    export_wanted = Signal(int, str)
    import_wanted = Signal()
    problem = Signal(str)

    def __init__(self, store: Store, writer: Writer, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._store, self._writer = store, writer
        self._current = 0
        self.covered = False  # something else than the current chat is shown
        self._filling = False
        self._searching = ChatSearch(store, self)
        self._searching.found.connect(self._found)
        self._searching.ended.connect(lambda _: self.say_empty(f"Nothing found for “{self.search.words}”."))
        self._searching.problem.connect(self.problem)
        self._connect()
        self.refresh()

    def _connect(self) -> None:
        self.search.searched.connect(self.refresh)
        self.search.entered.connect(self._to_list)
        self.new_button.clicked.connect(self.new_chat)
        self.list.delete_wanted.connect(self.delete)
        self.list.undo_wanted.connect(self.undo_delete)
        self.list.menu_wanted.connect(self._menu)
        self.list.currentItemChanged.connect(self._current_changed)
        self.list.itemActivated.connect(self._activated)
        self.list.itemClicked.connect(self._activated)
        self.list.itemDoubleClicked.connect(self._double_clicked)
        self.list.itemChanged.connect(self._renamed)
        self.undo_bar.undo.connect(self.undo_delete)
        self.undo_bar.left.connect(self.list.setFocus)

    # --- what others may ask

    @property
    def current(self) -> int:
        """The chat that is shown; 0 for none."""
        return self._current

    def refresh(self) -> None:
        """Read the list or the search hits again."""
        self._searching.stop()
        if self.search.words:
            self.list.clear()
            self._searching.begin(self.search.words)
            return
        try:
            chats = self._store.chats.list()
        except StoreError as error:
            self.problem.emit(str(error))
            return
        self._filling = True
        self.list.show_chats(chats)
        self._filling = False
        self._mark_current()
        self.say_empty("No chats yet. “New” starts one.")

    def select(self, chat: int) -> None:
        """Mark a chat as the one that is shown, without announcing it."""
        self._current = chat
        self._mark_current()

    def set_running(self, chat: int) -> None:
        """Mark the chat whose reply is running; 0 for none."""
        self._filling = True  # or it would be taken for renamed, and the list read again
        self.list.set_running(chat)
        self._filling = False

    def new_chat(self) -> None:
        """Make a chat and show it; an empty one that is there already is shown instead."""
        self._write(self._store.chats.fresh, "making a chat", self._made)

    def _made(self, chat: Chat) -> None:
        self.search.clear()
        self._show(chat.id)

    def rename(self) -> None:
        """Edit the title of the selected chat in place."""
        item = self.list.currentItem()
        if item is not None and not is_hit(item):
            self.list.setFocus()
            self.list.editItem(item)

    def duplicate(self) -> None:
        """Copy the selected chat and show the copy."""
        chat = self._selected()
        if chat:
            copy = partial(self._store.chats.duplicate, chat)
            self._write(copy, "copying a chat", lambda made: self._show(made.id))

    def delete(self) -> None:
        """Delete the selected chat; the bar below offers to undo it."""
        item = self.list.currentItem()
        chat = self._selected()
        if not chat or item is None or is_hit(item):
            return
        then = partial(self._deleted, chat, self.list.row(item), item.text())
        self._write(partial(self._store.chats.delete, chat), "deleting a chat", then)

    def _deleted(self, chat: int, row: int, title: str, _: None) -> None:
        self.undo_bar.add(chat, title)
        was_current = chat == self._current
        self.refresh()
        self.deleted.emit(chat)
        if was_current:
            neighbour = self.list.item(min(row, self.list.count() - 1))
            if neighbour is None:
                self.new_chat()
            else:
                self.select(neighbour.data(CHAT))
                self.chosen.emit(self._current)
        self.list.setFocus()

    def undo_delete(self) -> None:
        """Bring the chat back that was deleted last."""
        chat = self.undo_bar.newest
        if chat:
            back = partial(self._store.chats.undo_delete, chat)
            self._write(back, "bringing a chat back", partial(self._undone, chat))

    def _undone(self, chat: int, _: None) -> None:
        self.undo_bar.take(chat)
        self._show(chat)

    def focus_search(self) -> None:
        """Search over all chats."""
        self.search.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.search.selectAll()

    # --- inside

    def _found(self, hits: list[Hit]) -> None:
        self._filling = True
        for hit in hits:
            self.list.addItem(hit_row(hit))
        self._filling = False
        self.say_empty("")

    def _to_list(self) -> None:
        """From the search field to what it found."""
        if self.list.count():
            self.list.setFocus()
            self.list.setCurrentRow(max(0, self.list.currentRow()))

    def _selected(self) -> int:
        item = self.list.currentItem()
        return int(item.data(CHAT)) if item is not None else 0

    def _mark_current(self) -> None:
        self._filling = True
        if not self.search.words:
            self.list.setCurrentItem(self.list.row_of(self._current))  # type: ignore[arg-type]
        self._filling = False

    def _show(self, chat: int) -> None:
        self._current = chat
        self.refresh()
        self.chosen.emit(chat)

    def _current_changed(self, item: QListWidgetItem | None, _: object = None) -> None:
        if not self._filling and item is not None and not is_hit(item):
            self._choose(item)

    def _activated(self, item: QListWidgetItem) -> None:
        if is_hit(item) or item.data(CHAT) != self._current or self.covered:
            self._choose(item)

    def _choose(self, item: QListWidgetItem) -> None:
        self._current = item.data(CHAT)
        if is_hit(item):
            self.hit_chosen.emit(self._current, item.data(MESSAGE), self.search.words)
        else:
            self.chosen.emit(self._current)

    def _double_clicked(self, item: QListWidgetItem) -> None:
        if not is_hit(item):
            self.list.editItem(item)

    def _renamed(self, item: QListWidgetItem) -> None:
        if self._filling or is_hit(item):
            return
        self.list.tell_again(item.data(CHAT))  # whatever comes of it
        rename = partial(_rename, self._store, item.data(CHAT), item.text())
        self._write(rename, "renaming a chat", lambda _: QTimer.singleShot(0, self, self.refresh))

    def _menu(self, row: QListWidgetItem, point: QPoint) -> None:
        menu = chat_menu(self, row)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.popup(point)

    def _write(self, call: Callable[[], Any], doing: str, then: Callable[[Any], object]) -> None:
        self._writer.run(call, doing, then, self._not_written)

    def _not_written(self, sentence: str) -> None:
        self.problem.emit(sentence)
        QTimer.singleShot(0, self, self.refresh)


def _rename(store: Store, chat: int, title: str) -> None:
    if title.strip() != store.chats.get(chat).name:
        store.chats.rename(chat, title)
