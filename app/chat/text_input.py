"""A multi-line field that grows with its text. Enter sends, Shift+Enter breaks the line; an input method goes first."""

from __future__ import annotations

import math

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QInputMethodEvent, QKeyEvent
from PySide6.QtWidgets import QPlainTextEdit, QSizePolicy, QWidget

from app.theme import theme

ENTER = (Qt.Key.Key_Return, Qt.Key.Key_Enter)


class TextInput(QPlainTextEdit):
    """Grows from one line to `most` lines.

    Signals:
        submitted: Enter was pressed, not as part of composing.
        cancelled: Escape was pressed, not as part of composing.
        up_when_empty: Up was pressed in an empty field.
    """

    submitted = Signal()
    cancelled = Signal()
    up_when_empty = Signal()

    def __init__(self, most: int = 10, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._most = most
        self._composing = False
        self.setTabChangesFocus(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.textChanged.connect(self.fit)
        self.fit()

    @property
    def composing(self) -> bool:
        """Whether an input method is in the middle of a word."""
        return self._composing

    def fit(self) -> None:
        """Take the height of the text, wrapped lines counted."""
        lines = max(1, math.ceil(self.document().size().height()))
        line = self.fontMetrics().lineSpacing()
        frame = 2 * (self.frameWidth() + math.ceil(self.document().documentMargin()))
        self.setVerticalScrollBarPolicy(
            Qt.ScrollBarPolicy.ScrollBarAsNeeded if lines > self._most else Qt.ScrollBarPolicy.ScrollBarAlwaysOff
        )
        self.setFixedHeight(min(lines, self._most) * line + frame + 2)

    def restyle(self) -> None:
        """Take the theme's size."""
        self.setFont(theme().font())
        self.fit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Keys of this widget."""
        if self._composing:
            if event.key() not in ENTER:  # the input method's, where it lets the key through
                super().keyPressEvent(event)
            return
        if event.key() == Qt.Key.Key_Up and not event.modifiers() and self.document().isEmpty():
            self.up_when_empty.emit()
            return
        shift = event.modifiers() & Qt.KeyboardModifier.ShiftModifier
        if event.key() in ENTER and not shift:
            self.submitted.emit()
            return
        if event.key() in ENTER:
            self.insertPlainText("\n")
            self.ensureCursorVisible()
            return
        if event.key() == Qt.Key.Key_Escape:
            self.cancelled.emit()
            event.ignore()
            return
        super().keyPressEvent(event)

    def inputMethodEvent(self, event: QInputMethodEvent) -> None:
        """Note whether a word is being composed."""
        self._composing = bool(event.preeditString())
        super().inputMethodEvent(event)

    def focusOutEvent(self, event: object) -> None:
        """Composing ends with the focus."""
        self._composing = False
        super().focusOutEvent(event)  # type: ignore[arg-type]

    def resizeEvent(self, event: object) -> None:
        """Lay out for the new width."""
        super().resizeEvent(event)  # type: ignore[arg-type]
        self.fit()
