"""What can be done with one row of the chat list, as a menu."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtGui import QAction
from PySide6.QtWidgets import QListWidgetItem, QMenu

from app.chat.chat_rows import CHAT, is_hit

if TYPE_CHECKING:
    from app.chat.chat_list import ChatList


def chat_menu(chats: ChatList, row: QListWidgetItem) -> QMenu:
    """Everything is listed; what a search hit cannot do is greyed."""
    chat = int(row.data(CHAT))
    menu = QMenu(chats)
    for text, keys, call in (
        ("Rename", "F2", chats.rename),
        ("Duplicate", "", chats.duplicate),
        ("Export as Markdown…", "", lambda: chats.export_wanted.emit(chat, "md")),
        ("Export as JSON…", "", lambda: chats.export_wanted.emit(chat, "json")),
        ("Import a conversation…", "", chats.import_wanted.emit),
        ("Delete", "Del", chats.delete),
    ):
        action = QAction(f"{text}\t{keys}" if keys else text, menu)
        action.triggered.connect(call)
        action.setEnabled(not is_hit(row) or text.startswith(("Export", "Import")))
        menu.addAction(action)
    return menu
