"""The conversations: list, search over all of them, new, rename, duplicate, delete with undo. Works on the store."""

from __future__ import annotations

import time
from html import escape

from PySide6.QtCore import QEvent, QObject, QPoint, Qt, QTimer, Signal
from PySide6.QtGui import QAction, QKeyEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QMenu,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from app.chat.chat_delegate import HIT, RUNNING, SECOND, ChatDelegate
from app.chat.undo_bar import UndoBar
from app.store import Chat, Hit, Store, StoreError
from app.theme import GAP, GAP_SMALL, theme

CHAT, MESSAGE = Qt.ItemDataRole.UserRole + 10, Qt.ItemDataRole.UserRole + 11
SEARCH_MS = 150


class ChatList(QWidget):
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

    def __init__(self, store: Store, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self._current = 0
        self._running = 0
        self._filling = False
        self._undo: list[int] = []  # deleted in this session, in order
        self._build()
        self._timer = QTimer(self, interval=SEARCH_MS, singleShot=True)
        self._timer.timeout.connect(self.refresh)
        theme().changed.connect(self.restyle)
        self.restyle()
        self.refresh()

    def _build(self) -> None:
        outer = QVBoxLayout(self)
        outer.setContentsMargins(GAP, GAP, GAP, GAP)
        outer.setSpacing(GAP_SMALL)
        row = QHBoxLayout()
        self.search = QLineEdit()
        self.search.setPlaceholderText("Search")
        self.search.setAccessibleName("Search all chats")
        self.search.setClearButtonEnabled(True)
        self.search.textChanged.connect(self._search_changed)
        self.search.installEventFilter(self)
        self.new_button = QPushButton("New")
        self.new_button.setToolTip("New chat (Ctrl+N)")
        self.new_button.setAccessibleName("New chat")
        self.new_button.setAutoDefault(False)
        self.new_button.clicked.connect(self.new_chat)
        row.addWidget(self.search, 1)
        row.addWidget(self.new_button)
        outer.addLayout(row)
        self.list = QListWidget()
        self.list.setFrameShape(QFrame.Shape.NoFrame)
        self.list.setAccessibleName("Chats")
        self.list.setItemDelegate(ChatDelegate(self.list))
        self.list.setMouseTracking(True)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setEditTriggers(QAbstractItemView.EditTrigger.EditKeyPressed)
        self.list.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.list.customContextMenuRequested.connect(self._menu)
        self.list.currentItemChanged.connect(self._current_changed)
        self.list.itemActivated.connect(self._activated)
        self.list.itemClicked.connect(self._activated)
        self.list.itemDoubleClicked.connect(self._double_clicked)
        self.list.itemChanged.connect(self._renamed)
        self.list.installEventFilter(self)
        outer.addWidget(self.list, 1)
        self._empty = QLabel()
        self._empty.setWordWrap(True)
        self._empty.setAlignment(Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop)
        outer.addWidget(self._empty, 1)
        self.undo_bar = UndoBar()
        self.undo_bar.undo.connect(self.undo_delete)
        outer.addWidget(self.undo_bar)

    # --- what others may ask

    @property
    def current(self) -> int:
        """The chat that is shown; 0 for none."""
        return self._current

    def refresh(self) -> None:
        """Read the list or the search hits again."""
        words = self.search.text().strip()
        try:
            rows: list[Chat] | list[Hit] = self._store.chats.search(words) if words else self._store.chats.list()
        except StoreError as error:
            self.problem.emit(str(error))
            return
        self._filling = True
        self.list.clear()
        for row in rows:
            self._add_hit(row) if isinstance(row, Hit) else self._add_chat(row)
        self._filling = False
        self._mark_current()
        self.list.setVisible(bool(rows))
        self._empty.setVisible(not rows)
        self._empty.setText(f"Nothing found for “{words}”." if words else "No chats yet. “New” starts one.")
        self._empty.setTextFormat(Qt.TextFormat.PlainText)

    def select(self, chat: int) -> None:
        """Mark a chat as the one that is shown, without announcing it."""
        self._current = chat
        self._mark_current()

    def set_running(self, chat: int) -> None:
        """Mark the chat whose reply is running; 0 for none."""
        self._running = chat
        for item in self._items():
            item.setData(RUNNING, item.data(CHAT) == chat)

    def new_chat(self) -> None:
        """Make a chat and show it; an empty one that is there already is shown instead."""
        try:
            newest = next(iter(self._store.chats.list()), None)
            reuse = newest is not None and not newest.title and not self._store.messages.path(newest.id)
            chat = newest if reuse and newest is not None else self._store.chats.new()
        except StoreError as error:
            self.problem.emit(str(error))
            return
        self.search.clear()
        self._show(chat.id)

    def rename(self) -> None:
        """Edit the title of the selected chat in place."""
        item = self.list.currentItem()
        if item is not None and not item.data(MESSAGE):
            self.list.setFocus()
            self.list.editItem(item)

    def duplicate(self) -> None:
        """Copy the selected chat and show the copy."""
        chat = self._selected()
        if chat:
            self._try(lambda: self._show(self._store.chats.duplicate(chat).id))

    def delete(self) -> None:
        """Delete the selected chat; the bar below offers to undo it."""
        item = self.list.currentItem()
        chat = self._selected()
        if not chat or item is None or item.data(MESSAGE) is not None:
            return
        row = self.list.row(item)
        title = item.text()
        if not self._try(lambda: self._store.chats.delete(chat)):
            return
        self._undo.append(chat)
        self.undo_bar.offer(f"“{title}” was deleted.")
        was_current = chat == self._current
        self.refresh()
        self.deleted.emit(chat)
        if was_current:
            neighbour = self.list.item(min(row, self.list.count() - 1))
            if neighbour is None:
                self.new_chat()
            else:
                self._show(neighbour.data(CHAT))
        self.list.setFocus()

    def undo_delete(self) -> None:
        """Bring the chat back that was deleted last."""
        if self._undo:
            chat = self._undo.pop()
            if self._try(lambda: self._store.chats.undo_delete(chat)):
                self._show(chat)
        if self._undo:
            count = len(self._undo)
            self.undo_bar.offer(f"{count} more deleted chat{'s' if count > 1 else ''} can be brought back.")
        else:
            self.undo_bar.hide()

    def focus_search(self) -> None:
        """Search over all chats."""
        self.search.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.search.selectAll()

    def restyle(self) -> None:
        """Take the theme's colours and size."""
        colors = theme()
        self.list.setStyleSheet("QListWidget { background: transparent; }")
        self._empty.setStyleSheet(f"color: {colors.color('muted').name()};")
        self.list.doItemsLayout()

    # --- inside

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Delete, undo, and the search field's own keys."""
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            if watched is self.search:
                return self._search_key(event)
            if event.key() == Qt.Key.Key_Delete:
                self.delete()
                return True
            if event.key() == Qt.Key.Key_Z and event.modifiers() == Qt.KeyboardModifier.ControlModifier:
                self.undo_delete()
                return True
        return super().eventFilter(watched, event)

    def _search_key(self, event: QKeyEvent) -> bool:
        if event.key() == Qt.Key.Key_Escape and self.search.text():
            self.search.clear()
            return True
        if event.key() in (Qt.Key.Key_Down, Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.list.count():
            self._timer.stop()
            self.refresh()
            self.list.setFocus()
            self.list.setCurrentRow(max(0, self.list.currentRow()))
            return True
        return False

    def _search_changed(self) -> None:
        self._timer.start()

    def _add_chat(self, chat: Chat) -> None:
        item = QListWidgetItem(chat.name)
        item.setFlags(item.flags() | Qt.ItemFlag.ItemIsEditable)
        item.setData(CHAT, chat.id)
        item.setData(SECOND, ago(chat.updated) + (f" · {chat.model}" if chat.model else ""))
        item.setData(RUNNING, chat.id == self._running)
        item.setToolTip(_plain_tip(chat.name))
        self.list.addItem(item)

    def _add_hit(self, hit: Hit) -> None:
        item = QListWidgetItem(hit.title or "New chat")
        item.setData(CHAT, hit.chat)
        item.setData(MESSAGE, hit.message)
        item.setData(SECOND, hit.excerpt if hit.message else "title")
        item.setData(HIT, (hit.start, hit.length) if hit.message else None)
        item.setData(Qt.ItemDataRole.AccessibleTextRole, f"{hit.title}: {hit.excerpt}")
        self.list.addItem(item)

    def _items(self) -> list[QListWidgetItem]:
        return [self.list.item(n) for n in range(self.list.count())]

    def _selected(self) -> int:
        item = self.list.currentItem()
        return int(item.data(CHAT)) if item is not None else 0

    def _mark_current(self) -> None:
        self._filling = True
        if not self.search.text().strip():
            found = next((item for item in self._items() if item.data(CHAT) == self._current), None)
            self.list.setCurrentItem(found)  # type: ignore[arg-type]
        self._filling = False

    def _show(self, chat: int) -> None:
        self._current = chat
        self.refresh()
        self.chosen.emit(chat)

    def _current_changed(self, item: QListWidgetItem | None, _: object = None) -> None:
        if not self._filling and item is not None and item.data(MESSAGE) is None:
            self._choose(item)

    def _activated(self, item: QListWidgetItem) -> None:
        if item.data(MESSAGE) is not None or item.data(CHAT) != self._current:
            self._choose(item)

    def _choose(self, item: QListWidgetItem) -> None:
        self._current = item.data(CHAT)
        if item.data(MESSAGE) is not None:
            self.hit_chosen.emit(self._current, item.data(MESSAGE), self.search.text().strip())
        else:
            self.chosen.emit(self._current)

    def _double_clicked(self, item: QListWidgetItem) -> None:
        if item.data(MESSAGE) is None:
            self.list.editItem(item)

    def _renamed(self, item: QListWidgetItem) -> None:
        if self._filling or item.data(MESSAGE) is not None:
            return
        chat, title = item.data(CHAT), item.text()
        try:
            if title.strip() != self._store.chats.get(chat).name:
                self._store.chats.rename(chat, title)
        except StoreError as error:
            self.problem.emit(str(error))
        QTimer.singleShot(0, self, self.refresh)

    def _menu(self, point: QPoint) -> None:
        item = self.list.itemAt(point)
        if item is None:
            return
        menu = self.menu_for(item)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.popup(self.list.viewport().mapToGlobal(point))

    def menu_for(self, item: QListWidgetItem) -> QMenu:
        """What can be done with a chat."""
        chat = int(item.data(CHAT))
        menu = QMenu(self)
        for text, keys, call in (
            ("Rename", "F2", self.rename),
            ("Duplicate", "", self.duplicate),
            ("Export as Markdown…", "", lambda: self.export_wanted.emit(chat, "md")),
            ("Export as JSON…", "", lambda: self.export_wanted.emit(chat, "json")),
            ("Import a conversation…", "", self.import_wanted.emit),
            ("Delete", "Del", self.delete),
        ):
            action = QAction(f"{text}\t{keys}" if keys else text, menu)
            action.triggered.connect(call)
            action.setEnabled(item.data(MESSAGE) is None or text.startswith(("Export", "Import")))
            menu.addAction(action)
        return menu

    def _try(self, call: object) -> bool:
        try:
            call()  # type: ignore[operator]
        except StoreError as error:
            self.problem.emit(str(error))
            return False
        return True


def ago(moment: float, now: float | None = None) -> str:
    """A time as a person says it: "14:05", "yesterday", "3 May", "3 May 2024"."""
    now = time.time() if now is None else now
    then, today = time.localtime(moment), time.localtime(now)
    if then[:3] == today[:3]:
        return time.strftime("%H:%M", then)
    if then[:3] == time.localtime(now - 86400)[:3]:
        return "yesterday"
    day = f"{then.tm_mday} {time.strftime('%b', then)}"
    return day if then.tm_year == today.tm_year else f"{day} {then.tm_year}"


def _plain_tip(text: str) -> str:
    """A tooltip in which nothing is taken for HTML."""
    return f"<span>{escape(text)}</span>"
