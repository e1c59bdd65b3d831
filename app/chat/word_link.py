"""Ties the characters of a reply shown as Markdown to those of its text: the mouse over a word says which, and the
words of a round are marked. Blocks are compared with their source when they are first hovered or marked, not before."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QPoint, Signal
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QWidget

from app.chat.alignment import Alignment
from app.chat.code_block import CodeView
from app.chat.provenance import Provenance, Span
from app.chat.text_block import TextBlock
from app.chat.utf16 import units
from app.selection import NONE

if TYPE_CHECKING:
    from app.chat.body import MarkdownBody

Text = TextBlock | CodeView
Ranges = list[tuple[int, int, str]]  # start, end and role of the colour


class WordLink(QObject):
    """The words of one reply.

    Signals:
        hovered: the character of the reply under the mouse; -1 when it leaves.
        clicked: a clicked character of the reply.

    Attributes:
        source: the reply's text.
        provenance: its tokens, as far as they are known; set before words of a round are marked.
        pinned: round and node whose words stay marked.
    """

    hovered = Signal(int)
    clicked = Signal(int)

    def __init__(self, body: MarkdownBody) -> None:
        super().__init__(body)
        self._body = body
        self._laid: dict[Text, tuple[tuple[int, int, int], Alignment, list[int] | None]] = {}
        self._marked: set[Text] = set()
        self._at = -1
        self._lit = NONE
        self.source = ""
        self.provenance: Provenance | None = None
        self._only: Span | None = None  # of the lit node's words
        self.pinned = NONE

    # --- from the mouse

    def over(self, text: Text, position: int) -> None:
        """The mouse is over a character of a block."""
        at = self._character(text, position)
        if at != self._at:
            self._at = at
            self.hovered.emit(at)

    def chosen(self, text: Text, position: int) -> None:
        """A character of a block was clicked."""
        at = self._character(text, position)
        if at >= 0:
            self.clicked.emit(at)

    # --- to the words

    def light(self, number: int, node: int = -1, only: Span | None = None) -> None:
        """Highlight the words of a round, and those of one node more; (-1) none. `only`: of that node, this one."""
        if (number, node, only) != (*self._lit, self._only):
            self._lit, self._only = (number, node), only
            self._relight()

    def pin(self, number: int, node: int = -1) -> None:
        """Mark the words of a pinned round or node; (-1) none."""
        if (number, node) != self.pinned:
            self.pinned = (number, node)
            self._relight()

    def renew(self) -> None:
        """Blocks may have been made anew: mark their words again where the marks went with the old text."""
        blocks = self._body.texts()
        if any(text not in blocks or text.links_lost() for text in self._marked):
            self._relight()

    @property
    def marked(self) -> bool:
        """Whether any word is."""
        return bool(self._marked)

    def top_of(self, span: Span) -> int | None:
        """Where a span is, in pixels from the top of the body; None where it is not shown."""
        for text in self._body.texts():
            found = self._range(text, span.start, span.end)
            if found is not None:
                cursor = QTextCursor(text.document())
                cursor.setPosition(found[0])
                place: QWidget = text.viewport()
                return place.mapTo(self._body, QPoint(0, text.cursorRect(cursor).top())).y()
        return None

    def _relight(self) -> None:
        marks = self._marks()
        blocks = self._body.texts()
        marked = set()
        for text in blocks:
            ranges: Ranges = []
            for start, end, role in marks:
                found = self._range(text, start, end)
                if found is not None:
                    ranges.append((*found, role))
            text.mark_linked(ranges)
            if ranges:
                marked.add(text)
        self._marked = marked

    def _marks(self) -> Ranges:
        """What is to be marked, in characters of the reply."""
        found: Ranges = []
        if self.provenance is None:
            return found
        for (number, node), role in ((self.pinned, "accent_soft"), (self._lit, "highlight")):
            if number < 0:
                continue
            found += _joined(self.provenance.of_round(number), role)
            if node >= 0:
                only = self._only if role == "highlight" else None
                words = [only] if only is not None else self.provenance.of_node(number, node)
                found += [(s.start, s.end, "accent") for s in words]
        return found

    # --- blocks and the reply

    def _character(self, text: Text, position: int) -> int:
        """The character of the reply at a position of a block's document; -1: not certain."""
        if position < 0 or text not in self._body.texts():
            return -1
        (start, _, _), alignment, places = self._alignment(text)
        at = bisect_right(places, position) - 1 if places else position
        found = alignment.source_of[at] if at < len(alignment.source_of) else -1
        return start + found if found >= 0 else -1

    def _range(self, text: Text, start: int, end: int) -> tuple[int, int] | None:
        """The stretch of a block's document that came from a stretch of the reply."""
        first, last = self._body.source_range(text)
        if start >= last or end <= first:
            return None
        _, alignment, places = self._alignment(text)
        found = alignment.shown(start - first, end - first)
        if found is None or not places:
            return found
        return places[found[0]], places[found[1]]

    def _alignment(self, text: Text) -> tuple[tuple[int, int, int], Alignment, list[int] | None]:
        start, end = self._body.source_range(text)
        key = (start, end, text.document().characterCount())
        known = self._laid.get(text)
        if known is None or known[0] != key:
            shown = text.document().toPlainText()
            made = Alignment(self.source[start:end], shown, isinstance(text, CodeView))
            known = self._laid[text] = (key, made, units(shown))
        return known


def _joined(spans: list[Span], role: str) -> Ranges:
    """Neighbours as one stretch: the space between two words is marked too where their markup is left out."""
    found: Ranges = []
    for span in spans:
        if found and found[-1][1] == span.start:
            found[-1] = (found[-1][0], span.end, role)
        else:
            found.append((span.start, span.end, role))
    return found
