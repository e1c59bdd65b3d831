"""Search within a conversation: words, a count, next and previous. Finds nothing itself."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QLineEdit, QPushButton, QWidget

from app.theme import GAP, GAP_SMALL, theme


class FindBar(QFrame):
    """One line above the conversation.

    Attributes:
        before: what had the focus when the bar was opened.

    Signals:
        changed: the words.
        step: +1 for the next hit, -1 for the previous.
        closed: marks can go; whether the bar had the focus.
    """

    changed = Signal(str)
    step = Signal(int)
    closed = Signal(bool)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.before: QWidget | None = None
        row = QHBoxLayout(self)
        row.setContentsMargins(GAP, GAP_SMALL, GAP, GAP_SMALL)
        row.setSpacing(GAP_SMALL)
        self.field = QLineEdit()
        self.field.setPlaceholderText("Find in this conversation")
        self.field.setAccessibleName("Find in this conversation")
        self.field.setClearButtonEnabled(True)
        self.field.textChanged.connect(self.changed)
        self.count = QLabel()
        row.addWidget(self.field, 1)
        row.addWidget(self.count)
        for text, name, call in (
            ("Previous", "Previous hit (Shift+Enter)", lambda: self.step.emit(-1)),
            ("Next", "Next hit (Enter)", lambda: self.step.emit(1)),
            ("Close", "Close search (Esc)", self.close_bar),
        ):
            button = QPushButton(text)
            button.setAutoDefault(False)
            button.setToolTip(name)
            button.setAccessibleName(name)
            button.clicked.connect(call)
            row.addWidget(button)
        self.setAutoFillBackground(True)
        self.hide()

    def open(self, words: str = "") -> None:
        """Show the bar and select its words, `words` if there are any."""
        focus = self.window().focusWidget()
        if focus is not None and not self.isAncestorOf(focus):
            self.before = focus
        self.show()
        self.field.setFocus(Qt.FocusReason.ShortcutFocusReason)
        if words and words != self.field.text():
            self.field.setText(words)
            self.field.selectAll()
            return
        self.field.selectAll()
        if self.field.text():
            self.changed.emit(self.field.text())

    def close_bar(self) -> None:
        """Hide the bar."""
        focus = self.window().focusWidget()
        self.hide()
        self.closed.emit(focus is not None and self.isAncestorOf(focus))

    def set_count(self, current: int, total: int) -> None:
        """Say which hit is shown (from 1) of how many."""
        words = bool(self.field.text().strip())
        self.count.setText(f"{current} of {total}" if total else "no hits" if words else "")
        self.count.setStyleSheet(f"color: {theme().color('muted' if total or not words else 'danger').name()};")

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Keys of this widget."""
        if event.key() == Qt.Key.Key_Escape:
            self.close_bar()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            focus = self.focusWidget()
            if isinstance(focus, QPushButton):
                focus.click()
                return
            self.step.emit(-1 if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else 1)
        else:
            super().keyPressEvent(event)
