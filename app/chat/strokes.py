"""Where the underlines of a laid-out text go. Knows positions in the document, not what is underlined, nor how."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from PySide6.QtCore import QLineF
from PySide6.QtGui import QFontMetricsF, QTextCursor, QTextDocument
from PySide6.QtWidgets import QTextEdit

from app.chat.underline import stretches

APART = 1.5  # pixels between the underlines of neighbours
LINE_ROOM = 40  # pixels that a line and its underline may take


class Strokes:
    """The underlines of one text widget; kept until its layout changes, for a long reply has a thousand."""

    def __init__(self, text: QTextEdit) -> None:
        self._text = text
        self._kept: dict[tuple[int, int], list[QLineF]] = {}  # by start and end
        self._layout: tuple[float, str] = (-1.0, "")  # width and font that they belong to

    def under(self, start: int, end: int) -> list[QLineF]:
        """The underlines of the positions `start` to `end` (exclusive), one for each piece of line."""
        found = self._kept.get((start, end))
        if found is None:
            gap = QFontMetricsF(self._text.font()).descent() + 0.5
            found = [
                QLineF(left, base + gap, max(left + 1, right - APART), base + gap)
                for left, right, base in pieces(self._text.document(), start, end)
            ]
            self._kept[start, end] = found
        return found

    def refresh(self) -> None:
        """Forget them where width or font are others now. To be called before a picture."""
        layout = (self._text.document().textWidth(), self._text.font().key())
        if layout != self._layout:
            self._layout, self._kept = layout, {}

    def forget(self) -> None:
        """The text is another one."""
        self._kept = {}

    def forget_last_line(self) -> None:
        """The text goes on: what was at its end may move."""
        end = QTextCursor(self._text.document())
        end.movePosition(QTextCursor.MoveOperation.End)
        line = self._text.cursorRect(end).top() - LINE_ROOM
        moved = itertools.takewhile(lambda item: not item[1] or item[1][0].y1() >= line, reversed(self._kept.items()))
        for place in [place for place, _ in moved]:
            del self._kept[place]


def pieces(document: QTextDocument, start: int, end: int) -> Iterator[tuple[float, float, float]]:
    """Left, right and baseline of each stretch of line that the positions `start` to `end` cover."""
    if start == end:
        return
    block = document.findBlock(start)
    while block.isValid() and block.position() < end:
        origin = document.documentLayout().blockBoundingRect(block).topLeft()
        yield from stretches(block, origin, start - block.position(), end - block.position())
        block = block.next()
