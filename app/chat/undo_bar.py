"""Says which chats were deleted in this session and offers to bring them back. Stays until it is closed: no hurry."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAccessible, QAccessibleEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from app.chat.look import small_button
from app.theme import GAP, GAP_SMALL, RADIUS, theme


class UndoBar(QFrame):
    """A sentence, Undo and Close.

    Signals:
        undo: bring it back.
        left: the bar is hidden, and had the focus.
    """

    undo = Signal()
    left = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._chats: list[int] = []  # in the order they were deleted
        self.setObjectName("undo")
        column = QVBoxLayout(self)
        column.setContentsMargins(GAP, GAP_SMALL, GAP_SMALL, GAP_SMALL)
        column.setSpacing(GAP_SMALL)
        self.label = QLabel()
        self.label.setTextFormat(Qt.TextFormat.PlainText)
        self.label.setWordWrap(True)
        column.addWidget(self.label)
        row = QHBoxLayout()
        row.setSpacing(GAP_SMALL)
        row.addStretch(1)
        column.addLayout(row)
        self.undo_button = QPushButton("Undo")
        self.undo_button.setToolTip("Bring the last deleted chat back (Ctrl+Z in the list)")
        self.undo_button.setAccessibleName("Undo deleting the chat")
        self.undo_button.clicked.connect(self.undo)
        self.close_button = QPushButton("Close")
        self.close_button.setToolTip("Keep it deleted; Ctrl+Z in the list still brings it back")
        self.close_button.setAccessibleName("Close the undo bar")
        self.close_button.clicked.connect(self._close)
        for button in (self.undo_button, self.close_button):
            button.setAutoDefault(False)
            row.addWidget(button)
        theme().changed.connect(self.restyle)
        self.restyle()
        self.hide()

    @property
    def newest(self) -> int:
        """The chat that was deleted last; 0 for none."""
        return self._chats[-1] if self._chats else 0

    def add(self, chat: int, title: str) -> None:
        """A chat was deleted."""
        if chat not in self._chats:  # asked for twice, before it was done
            self._chats.append(chat)
        self._offer(f"“{title}” was deleted.")

    def take(self, chat: int) -> None:
        """This one is back: offer the one before it, if there is one."""
        if chat in self._chats:
            self._chats.remove(chat)
        count = len(self._chats)
        if count:
            self._offer(f"{count} more deleted chat{'s' if count > 1 else ''} can be brought back.")
        else:
            self._close()

    def _close(self) -> None:
        focus = self.window().focusWidget()
        self.hide()
        if focus is not None and self.isAncestorOf(focus):
            self.left.emit()

    def _offer(self, sentence: str) -> None:
        """Show the bar, and tell screen readers."""
        self.label.setText(sentence)
        self.show()
        QAccessible.updateAccessibility(QAccessibleEvent(self.label, QAccessible.Event.Alert))

    def restyle(self) -> None:
        """Take the theme's colours and size."""
        colors = theme()
        self.setStyleSheet(
            f"#undo {{ background: {colors.color('raised').name()}; border-radius: {RADIUS}px; }}"
            + small_button(colors, border=True)
        )
