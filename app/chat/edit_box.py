"""The editor of a sent prompt."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent, QTextCursor
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from app.chat.text_input import TextInput
from app.theme import GAP_SMALL

UNSENT = " This is what you typed before; undo leads back to what was sent."


class EditBox(QWidget):
    """A field with Send and Cancel.

    Signals:
        accepted: the new text, not blank.
        cancelled: leave the message as it is.
    """

    accepted = Signal(str)
    cancelled = Signal()

    def __init__(self, text: str, draft: str = "", parent: QWidget | None = None) -> None:
        """`draft` was typed before and not sent; undoing it leads back to `text`."""
        super().__init__(parent)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.setSpacing(GAP_SMALL)
        self.input = TextInput(20, self)
        self.input.setPlainText(text)
        if draft:
            self.input.selectAll()
            self.input.insertPlainText(draft)
        self.input.setAccessibleName("Edit the message")
        self.input.submitted.connect(self._accept)
        self.input.cancelled.connect(self.cancelled)
        self.input.textChanged.connect(self._check)
        outer.addWidget(self.input)
        self.hint = QLabel(f"The old version and its replies are kept.{UNSENT if draft else ''}")
        self.hint.setProperty("muted", True)
        self.hint.setWordWrap(True)
        outer.addWidget(self.hint)
        row = QHBoxLayout()
        row.addStretch(1)
        self.cancel_button = QPushButton("Cancel")
        self.send_button = QPushButton("Send as a new branch")
        self.cancel_button.setAccessibleName("Cancel editing")
        self.send_button.setAccessibleName("Send the edited message")
        self.cancel_button.clicked.connect(self.cancelled)
        self.send_button.clicked.connect(self._accept)
        for button in (self.cancel_button, self.send_button):
            button.setAutoDefault(False)
            row.addWidget(button)
        outer.addLayout(row)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Escape has closed the editor; it shall close nothing else."""
        if event.key() != Qt.Key.Key_Escape:
            super().keyPressEvent(event)

    def start(self) -> None:
        """Put the cursor at the end of the text."""
        self.input.setFocus()
        self.input.moveCursor(QTextCursor.MoveOperation.End)

    def _check(self) -> None:
        self.send_button.setEnabled(bool(self.input.toPlainText().strip()))

    def _accept(self) -> None:
        text = self.input.toPlainText().strip()
        if text:
            self.accepted.emit(text)
