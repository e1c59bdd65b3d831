"""A reply as plain text with every token underlined by how it came. Knows the laid-out tokens, not how they got there.

Underlines are drawn here: Qt's text formats have no double line. Where they go `app.chat.strokes` knows.
"""

from __future__ import annotations

from bisect import bisect_right

from PySide6.QtCore import QEvent, QLineF, QPoint, QPointF, Qt, Signal
from PySide6.QtGui import QMouseEvent, QPainter, QPaintEvent, QTextCursor
from PySide6.QtWidgets import QTextEdit, QToolTip, QWidget

from app.chat.provenance import Provenance, Span
from app.chat.strokes import LINE_ROOM, Strokes
from app.chat.text_block import TextBlock
from app.chat.token_words import card, summary
from app.chat.underline import STYLES, underline
from app.chat.utf16 import units
from app.theme import theme
from engine.trace import Source

NO_MARKDOWN = "Tokens are shown as plain text, without Markdown, so that every one of them is visible exactly."
ROOM = 3.0  # pixels below the letters for the underline
NEW = 40  # spans that one update may have added or moved


class ProvenanceView(TextBlock):
    """Underlined tokens.

    Signals:
        hovered: round and node of the token under the mouse; (-1, -1) when it leaves.
        clicked: round and node of a clicked token.

    Attributes:
        pinned: round and node whose words stay marked.
    """

    hovered = Signal(int, int)
    clicked = Signal(int, int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.provenance: Provenance | None = None
        self._units: list[int] | None = None  # UTF-16 position of each character, where they differ
        self._shown = ""
        self._strokes = Strokes(self)
        self._lit = (-1, -1)
        self.pinned = (-1, -1)
        self._over: Span | None = None
        self._pressed = QPoint()
        self.viewport().setMouseTracking(True)
        self.setAccessibleName("Reply with the origin of every token")
        self.setToolTip("")

    def show_tokens(self, provenance: Provenance) -> None:
        """Show the text and its tokens; a longer text of the same turn is appended."""
        shown = self.provenance.text if self.provenance is provenance and self._shown else None
        text = provenance.text
        if shown is None or not text.startswith(self._shown):
            self.set_plain(text)
            self._widen()
            self._strokes.forget()
        elif len(text) > len(self._shown):
            self._strokes.forget_last_line()
            self.append_plain(text[len(self._shown) :])
        fresh = shown is None
        self._shown = text
        self.provenance = provenance
        self._units = units(text)
        self.setAccessibleDescription(summary(provenance))
        if fresh or self._lit[0] >= 0 or self.pinned[0] >= 0:
            self._relight()
        elif provenance.spans:
            top = self.top_of(provenance.spans[-min(len(provenance.spans), NEW)]) - LINE_ROOM
            self.viewport().update(0, top, self.width(), self.height())

    def light(self, number: int, node: int = -1) -> None:
        """Highlight the words of a round, and those of one node more; (-1) none."""
        if (number, node) != self._lit or self._over is not None:
            self._lit = (number, node)
            self._relight()

    def pin(self, number: int, node: int = -1) -> None:
        """Frame the words of a pinned round or node; (-1) none."""
        self.pinned = (number, node)
        self._relight()

    def top_of(self, span: Span) -> int:
        """Where a span is, in pixels from the top."""
        cursor = QTextCursor(self.document())
        cursor.setPosition(self._position(span.start))
        return self.cursorRect(cursor).top()

    def span_at(self, point: QPoint) -> Span | None:
        """The span under a point of the viewport."""
        if self.provenance is None:
            return None
        position = self.document().documentLayout().hitTest(QPointF(point), Qt.HitTestAccuracy.ExactHit)
        return self.provenance.at(self._character(position)) if position >= 0 else None

    def restyle(self) -> None:
        """Take the theme's colours and size."""
        super().restyle()
        self._widen()
        self._relight()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Say which token is under the mouse."""
        super().mouseMoveEvent(event)
        span = self.span_at(event.position().toPoint())
        if span == self._over:
            return
        self._over = span
        if span is None or self.provenance is None:
            QToolTip.hideText()
            self.hovered.emit(-1, -1)
            return
        place = self.provenance.tokens[span.tokens[-1]]
        self.hovered.emit(place.round, place.node)
        self._relight()  # the same node may hold two words: the one under the mouse is meant
        QToolTip.showText(event.globalPosition().toPoint(), card(self.provenance, span), self.viewport())

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Remember where a click began."""
        super().mousePressEvent(event)
        self._pressed = event.position().toPoint()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """A click without a drag chooses a token."""
        super().mouseReleaseEvent(event)
        point = event.position().toPoint()
        moved = (point - self._pressed).manhattanLength() > 3
        if event.button() != Qt.MouseButton.LeftButton or moved or self.textCursor().hasSelection():
            return
        span = self.span_at(point)
        if span is not None and self.provenance is not None:
            place = self.provenance.tokens[span.tokens[-1]]
            self.clicked.emit(place.round, place.node)

    def viewportEvent(self, event: QEvent) -> bool:
        """Notice that the mouse has left."""
        if event.type() == QEvent.Type.Leave and self._over is not None:
            self._over = None
            self.hovered.emit(-1, -1)
        return super().viewportEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the text, then the underlines."""
        super().paintEvent(event)
        if self.provenance is None:
            return
        top, bottom = event.rect().top() - LINE_ROOM, event.rect().bottom() + LINE_ROOM
        layout = self.document().documentLayout()
        first, last = (
            self._character(layout.hitTest(QPointF(x, y), Qt.HitTestAccuracy.FuzzyHit))
            for x, y in ((0, top), (self.width(), bottom))
        )
        self._strokes.refresh()
        strokes: dict[Source, list[QLineF]] = {}
        for span in self.provenance.between(first, last):
            lines = self._strokes.under(self._position(span.start), self._position(span.end))
            strokes.setdefault(self.provenance.source(span), []).extend(lines)
        painter = QPainter(self.viewport())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for source, lines in strokes.items():
            fate, style, _, _ = STYLES[source]
            underline(painter, lines, style, theme().fate_ink(fate))
        painter.end()

    def _widen(self) -> None:
        """Lines far enough apart for a double underline."""
        cursor = QTextCursor(self.document())
        cursor.select(QTextCursor.SelectionType.Document)
        form = cursor.blockFormat()
        form.setLineHeight(2 * ROOM, 4)  # QTextBlockFormat.LineDistanceHeight
        form.setBottomMargin(ROOM)
        cursor.setBlockFormat(form)

    def _relight(self) -> None:
        if self.provenance is None:
            return
        marks = []
        for (number, node), roles in ((self.pinned, ("accent_soft", "accent")), (self._lit, ("highlight", "accent"))):
            if number < 0:
                continue
            marks += [self._mark(span, roles[0]) for span in self.provenance.of_round(number)]
            if node >= 0:
                over = self._over if (number, node) == self._lit else None
                words = [over] if over is not None else self.provenance.of_node(number, node)
                marks += [self._mark(span, roles[1]) for span in words]
        self.setExtraSelections(marks)
        self.viewport().update()

    def _mark(self, span: Span, role: str) -> QTextEdit.ExtraSelection:
        return self.selection(self._position(span.start), self._position(span.end), role)

    def _position(self, character: int) -> int:
        return self._units[character] if self._units else character

    def _character(self, position: int) -> int:
        if not self._units:
            return position
        return bisect_right(self._units, position) - 1
