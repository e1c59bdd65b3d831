"""The parts of the panel on the left in their places: search, new, the list or what is said without one, undo.

Knows no store; what the parts do is `ChatList`'s.
"""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from app.chat.chat_view import ChatView
from app.chat.search_field import SearchField
from app.chat.undo_bar import UndoBar
from app.theme import GAP, GAP_SMALL, theme


class ChatSide(QWidget):
    """All parts, laid out."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.search, self.list, self.undo_bar = SearchField(), ChatView(), UndoBar()
        self.new_button = QPushButton("New")
        self.new_button.setToolTip("New chat (Ctrl+N)")
        self.new_button.setAccessibleName("New chat")
        self.new_button.setAutoDefault(False)
        self._empty = QLabel()
        self._empty.setTextFormat(Qt.TextFormat.PlainText)
        self._empty.setWordWrap(True)
        self._empty.setAlignment(Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop)
        row = QHBoxLayout()
        row.addWidget(self.search, 1)
        row.addWidget(self.new_button)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(GAP, GAP, GAP, GAP)
        outer.setSpacing(GAP_SMALL)
        outer.addLayout(row)
        outer.addWidget(self.list, 1)
        outer.addWidget(self._empty, 1)
        outer.addWidget(self.undo_bar)
        theme().changed.connect(self.restyle)
        self.restyle()

    def say_empty(self, text: str) -> None:
        """What stands in place of a list without rows."""
        empty = not self.list.count()
        self.list.setVisible(not empty)
        self._empty.setVisible(empty)
        self._empty.setText(text)

    def restyle(self) -> None:
        """Take the theme's colours and size."""
        self._empty.setStyleSheet(f"color: {theme().color('muted').name()};")
        self.list.doItemsLayout()
