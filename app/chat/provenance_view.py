"""A reply as plain text with every token underlined by how it came. Knows the laid-out tokens, not how they got there.

Underlines are drawn here: Qt's text formats have no double line.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

from PySide6.QtCore import QEvent, QPoint, QPointF, Qt, Signal
from PySide6.QtGui import QColor, QFontMetricsF, QMouseEvent, QPainter, QPaintEvent, QPen, QTextBlock, QTextCursor
from PySide6.QtWidgets import QToolTip, QWidget

from app.chat.provenance import Provenance, Span
from app.chat.text_block import TextBlock
from app.theme import Fate, theme
from engine.trace import Source

# Fate whose colour is used, line style, mark and words of each source.
STYLES: dict[Source, tuple[Fate, str, str, str]] = {
    "draft": ("accepted", "solid", "✓", "accepted draft"),
    "bonus": ("bonus", "double", "★", "bonus: the target's own token"),
    "plain": ("pruned", "dotted", "·", "plain decoding"),
    "first": ("pruned", "dash", "¹", "first token, from reading the prompt"),
    "correction": ("rejected", "wave", "✕", "correction of a draft token"),
}
NO_MARKDOWN = "Tokens are shown as plain text, without Markdown, so that every one of them is visible exactly."
ROOM = 3.0  # pixels below the letters for the underline


class ProvenanceView(TextBlock):
    """Underlined tokens.

    Signals:
        hovered: round and node of the token under the mouse; (-1, -1) when it leaves.
        clicked: round and node of a clicked token.
    """

    hovered = Signal(int, int)
    clicked = Signal(int, int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.provenance: Provenance | None = None
        self._units: list[int] | None = None  # UTF-16 position of each character, where they differ
        self._lit = (-1, -1)
        self._pinned = (-1, -1)
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
        elif len(text) > len(self._shown):
            self.append_plain(text[len(self._shown) :])
        self._shown = text
        self.provenance = provenance
        self._units = _units(text)
        self.setAccessibleDescription(summary(provenance))
        self._relight()

    _shown = ""

    def light(self, number: int, node: int = -1) -> None:
        """Highlight the words of a round, and those of one node more; (-1) none."""
        if (number, node) != self._lit or self._over is not None:
            self._lit = (number, node)
            self._relight()

    def pin(self, number: int, node: int = -1) -> None:
        """Frame the words of a pinned round or node; (-1) none."""
        self._pinned = (number, node)
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
        """Draw."""
        super().paintEvent(event)
        if self.provenance is None:
            return
        painter = QPainter(self.viewport())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        top, bottom = event.rect().top() - 40, event.rect().bottom() + 40
        gap = QFontMetricsF(self.font()).descent() + 0.5
        layout = self.document().documentLayout()
        first, last = (
            self._character(layout.hitTest(QPointF(x, y), Qt.HitTestAccuracy.FuzzyHit))
            for x, y in ((0, top), (self.width(), bottom))
        )
        for span in self.provenance.between(first, last):
            if span.end == span.start:
                continue
            fate, line, _, _ = STYLES[self.provenance.source(span)]
            for left, right, base in self._pieces(span, top, bottom):
                underline(painter, left, right, base + gap, line, theme().fate_ink(fate))

    def _pieces(self, span: Span, top: float, bottom: float) -> Iterator[tuple[float, float, float]]:
        """Left, right and baseline of each stretch of line that a span covers, between two heights."""
        start, end = self._position(span.start), self._position(span.end)
        block = self.document().findBlock(start)
        while block.isValid() and block.position() < end:
            rect = self.document().documentLayout().blockBoundingRect(block)
            if rect.top() > bottom:
                return
            if rect.bottom() >= top:
                yield from _lines(block, rect.topLeft(), start - block.position(), end - block.position())
            block = block.next()

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
        for (number, node), roles in ((self._pinned, ("accent_soft", "accent")), (self._lit, ("highlight", "accent"))):
            if number < 0:
                continue
            marks += [self._mark(span, roles[0]) for span in self.provenance.of_round(number)]
            if node >= 0:
                over = self._over if (number, node) == self._lit else None
                words = [over] if over is not None else self.provenance.of_node(number, node)
                marks += [self._mark(span, roles[1]) for span in words]
        self.setExtraSelections(marks)
        self.viewport().update()

    def _mark(self, span: Span, role: str) -> object:
        mark = self.selection(self._position(span.start), self._position(span.end), role)
        if role == "accent_soft":
            mark.format.setForeground(theme().color("text"))  # type: ignore[attr-defined]
        return mark

    def _position(self, character: int) -> int:
        return self._units[character] if self._units else character

    def _character(self, position: int) -> int:
        if not self._units:
            return position
        return bisect_right(self._units, position) - 1


def _units(text: str) -> list[int] | None:
    """UTF-16 positions of the characters of a text, which QTextDocument counts in; None where both are the same."""
    if text.isascii() or not any(ord(c) > 0xFFFF for c in text):
        return None
    positions, at = [], 0
    for character in text:
        positions.append(at)
        at += 2 if ord(character) > 0xFFFF else 1
    return [*positions, at]


def _lines(block: QTextBlock, origin: QPointF, start: int, end: int) -> Iterator[tuple[float, float, float]]:
    layout = block.layout()
    for index in range(layout.lineCount()):
        line = layout.lineAt(index)
        first, last = line.textStart(), line.textStart() + line.textLength()
        if last <= start or first >= end:
            continue
        left = line.cursorToX(max(start, first))
        right = line.cursorToX(min(end, last))
        left, right = (v[0] if isinstance(v, tuple) else v for v in (left, right))
        if right > left:
            yield origin.x() + left, origin.x() + right, origin.y() + line.y() + line.ascent()


def underline(painter: QPainter, left: float, right: float, y: float, style: str, color: QColor) -> None:
    """Draw one underline; a small gap at the right keeps neighbours apart."""
    right = max(left + 1, right - 1.5)
    pen = QPen(color, 1.6)
    pen.setCapStyle(Qt.PenCapStyle.FlatCap)
    if style == "double":
        pen.setWidthF(1.0)
    elif style == "dotted":
        pen.setDashPattern([1, 1.6])
    elif style == "dash":
        pen.setDashPattern([3, 2])
    painter.setPen(pen)
    if style == "wave":
        step, up, x = 2.5, True, left
        while x < right:
            painter.drawLine(
                QPointF(x, y + (1.2 if up else -0.4)), QPointF(min(x + step, right), y + (-0.4 if up else 1.2))
            )
            x, up = x + step, not up
        return
    painter.drawLine(QPointF(left, y), QPointF(right, y))
    if style == "double":
        painter.drawLine(QPointF(left, y + 2.4), QPointF(right, y + 2.4))


def visible(text: str) -> str:
    """A token's text with spaces and line ends that can be seen."""
    return text.replace(" ", "␣").replace("\n", "⏎").replace("\t", "⇥") or "(nothing)"


def card(provenance: Provenance, span: Span) -> str:
    """What the tooltip says about a span, as plain text."""
    lines = []
    for index in span.tokens:
        token, number, node = provenance.tokens[index]
        _, _, mark, words = STYLES[token.source]
        lines.append(f"{mark} “{visible(token.text)}” · id {token.id} · {words}")
        probability = "" if token.prob != token.prob else f" · p {token.prob:.2f}"
        lines.append(
            f"    round {number + 1}, node {node}{probability} · token {index + 1} of {len(provenance.tokens)}"
        )
    if len(span.tokens) > 1:
        lines.append("These tokens make one character together.")
    return "\n".join(lines)


def summary(provenance: Provenance) -> str:
    """The counts in words: "34 tokens: ✓ 24 accepted draft, ★ 9 bonus, ¹ 1 first token"."""
    counts = provenance.counts()
    parts = [
        f"{STYLES[source][2]} {counts[source]} {STYLES[source][3].split(':')[0].split(',')[0]}"
        for source in STYLES
        if counts[source]
    ]
    return f"{sum(counts.values())} tokens: {', '.join(parts)}" if parts else "no tokens"
