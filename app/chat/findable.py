"""Search hits in a text widget, marked without touching its text. For QTextEdit and QPlainTextEdit alike."""

from __future__ import annotations

from PySide6.QtGui import QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QTextEdit

from app.theme import theme


class Findable:
    """Mixin for a text widget."""

    _found: tuple[tuple[int, int], ...] = ()
    _current = -1

    def find_all(self, words: str) -> list[tuple[int, int]]:
        """Position and length of every occurrence, upper and lower case alike."""
        found = []
        document = self.document()  # type: ignore[attr-defined]
        cursor = document.find(words, 0)
        while not cursor.isNull():
            found.append((cursor.selectionStart(), cursor.selectionEnd() - cursor.selectionStart()))
            cursor = document.find(words, cursor)
        return found

    def mark_found(self, ranges: list[tuple[int, int]], current: int = -1) -> None:
        """Mark hits, by document position and length; `current` is the one being looked at."""
        if ranges or self._found:
            self._found, self._current = tuple(ranges), current
            self.mark_again()

    def mark_again(self) -> None:
        """Take the theme's colours."""
        self.setExtraSelections(  # type: ignore[attr-defined]
            [
                self.selection(at, at + length, "accent" if n == self._current else "highlight")
                for n, (at, length) in enumerate(self._found)
            ]
        )

    def found_top(self) -> int | None:
        """Where the hit being looked at is, in pixels from the top; None when it is not here."""
        if not 0 <= self._current < len(self._found):
            return None
        cursor = QTextCursor(self.document())  # type: ignore[attr-defined]
        cursor.setPosition(self._found[self._current][0])
        return int(self.cursorRect(cursor).top())  # type: ignore[attr-defined]

    def selection(self, start: int, end: int, role: str) -> QTextEdit.ExtraSelection:
        """A stretch of text over the colour of a role."""
        cursor = QTextCursor(self.document())  # type: ignore[attr-defined]
        cursor.setPosition(start)
        cursor.setPosition(end, QTextCursor.MoveMode.KeepAnchor)
        form = QTextCharFormat()
        form.setBackground(theme().color(role))
        form.setForeground(theme().color("on_accent" if role == "accent" else "on_highlight"))
        made = QTextEdit.ExtraSelection()
        made.cursor, made.format = cursor, form
        return made
