"""The mouse over the characters of a text widget. Knows where they are, not what they mean."""

from __future__ import annotations

from typing import Any, Protocol

from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QMouseEvent, QTextCursor

STILL = 3  # pixels that the mouse may move in a click


class WordListener(Protocol):
    """Who is told where the mouse is; `text` is the widget."""

    def over(self, text: Any, position: int) -> None:
        """The mouse is over the character at a position of the document; -1: over none."""

    def chosen(self, text: Any, position: int) -> None:
        """The character at a position was clicked."""


class WordMouse:
    """Mixin for QTextEdit and QPlainTextEdit, before them in the list of bases.

    Attributes:
        words: who listens; with None the mouse is left alone.
    """

    words: WordListener | None = None
    _pressed = QPoint()

    def character_at(self, point: QPoint) -> int:
        """Position in the document of the character under a point of the viewport; -1: there is none."""
        cursor = self.cursorForPosition(point)  # type: ignore[attr-defined]
        if cursor.positionInBlock() and self.cursorRect(cursor).left() > point.x():  # type: ignore[attr-defined]
            cursor.movePosition(QTextCursor.MoveOperation.PreviousCharacter)
        here, position = self.cursorRect(cursor), cursor.position()  # type: ignore[attr-defined]
        if cursor.atBlockEnd() or not cursor.movePosition(QTextCursor.MoveOperation.NextCharacter):
            return -1
        after = self.cursorRect(cursor)  # type: ignore[attr-defined]
        left, right = sorted((here.left(), after.left()))
        same_line = abs(here.center().y() - after.center().y()) < here.height() / 2
        inside = left <= point.x() <= right and here.top() <= point.y() <= here.bottom()
        return position if same_line and inside else -1

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Say which character is under the mouse, unless words are being selected."""
        super().mouseMoveEvent(event)  # type: ignore[misc]
        if self.words is not None and not event.buttons():
            self.words.over(self, self.character_at(event.position().toPoint()))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Remember where a click began."""
        super().mousePressEvent(event)  # type: ignore[misc]
        self._pressed = event.position().toPoint()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """A click without a drag, not on a link, chooses a character."""
        super().mouseReleaseEvent(event)  # type: ignore[misc]
        point = event.position().toPoint()
        if self.words is None or event.button() != Qt.MouseButton.LeftButton:
            return
        dragged = (point - self._pressed).manhattanLength() > STILL or self.textCursor().hasSelection()  # type: ignore[attr-defined]
        if dragged or self.anchorAt(point):  # type: ignore[attr-defined]
            return
        position = self.character_at(point)
        if position >= 0:
            self.words.chosen(self, position)

    def leaveEvent(self, event: QEvent) -> None:
        """The mouse has left."""
        super().leaveEvent(event)  # type: ignore[misc]
        if self.words is not None:
            self.words.over(self, -1)
