"""Search hits and linked words in a text widget, marked without touching its text. For QTextEdit and QPlainTextEdit."""

from __future__ import annotations

from PySide6.QtGui import QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QTextEdit

from app.theme import theme

INKS = {"accent": "on_accent", "highlight": "on_highlight", "accent_soft": "text"}  # letters, by what is behind them


class Findable:
    """Mixin for a text widget."""

    _found: tuple[tuple[int, int], ...] = ()
    _current = -1
    _linked: tuple[tuple[int, int, str], ...] = ()
    _links_lost = False

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

    def mark_linked(self, ranges: list[tuple[int, int, str]]) -> None:
        """Mark words, by document position of their start and end and the role of their colour."""
        self._links_lost = False
        if ranges or self._linked:
            self._linked = tuple(ranges)
            self.mark_again()

    def forget_links(self) -> None:
        """The text is being replaced: its positions mean nothing any more."""
        self._links_lost = self._links_lost or bool(self._linked)
        self._linked = ()

    def links_lost(self) -> bool:
        """Whether the text was replaced since words were marked."""
        return self._links_lost

    def mark_again(self) -> None:
        """Take the theme's colours."""
        marks = [self.selection(start, end, role) for start, end, role in self._linked]
        for n, (at, length) in enumerate(self._found):
            marks.append(self.selection(at, at + length, "accent" if n == self._current else "highlight"))
        self.setExtraSelections(marks)  # type: ignore[attr-defined]

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
        form.setForeground(theme().color(INKS[role]))
        made = QTextEdit.ExtraSelection()
        made.cursor, made.format = cursor, form
        return made
