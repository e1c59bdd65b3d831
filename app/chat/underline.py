"""How the origin of a token is drawn under it: a colour, a line style and a mark for each source. Knows no text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from PySide6.QtCore import QLineF, QPointF, Qt
from PySide6.QtGui import QColor, QPainter, QPen, QTextBlock

from app.theme import Fate
from engine.trace import Source

# Fate whose colour is used, line style, mark and words of each source.
STYLES: dict[Source, tuple[Fate, str, str, str]] = {
    "draft": ("accepted", "solid", "✓", "accepted draft"),
    "bonus": ("bonus", "double", "★", "bonus: the target's own token"),
    "plain": ("pruned", "dotted", "·", "plain decoding"),
    "first": ("pruned", "dash", "¹", "first token, from reading the prompt"),
    "correction": ("rejected", "wave", "✕", "correction of a draft token"),
}


def stretches(block: QTextBlock, origin: QPointF, start: int, end: int) -> Iterator[tuple[float, float, float]]:
    """Left, right and baseline of each piece of line that holds the positions `start` to `end` of a laid-out block."""
    layout = block.layout()
    index = layout.lineForTextPosition(max(0, start)).lineNumber() if layout.lineCount() else 0
    for number in range(index, layout.lineCount()):
        line = layout.lineAt(number)
        first, last = line.textStart(), line.textStart() + line.textLength()
        if first >= end:
            return
        edges = (line.cursorToX(max(start, first)), line.cursorToX(min(end, last)))
        left, right = (_x(edge) for edge in edges)
        if right > left:
            yield origin.x() + left, origin.x() + right, origin.y() + line.y() + line.ascent()


def _x(edge: Any) -> float:
    """`QTextLine.cursorToX` gives the position too in some versions of the binding."""
    return float(edge[0] if isinstance(edge, tuple) else edge)


def underline(painter: QPainter, lines: list[QLineF], style: str, color: QColor) -> None:
    """Draw underlines of one style."""
    pen = QPen(color, 1.0 if style == "double" else 1.6)
    pen.setCapStyle(Qt.PenCapStyle.FlatCap)
    if style == "dotted":
        pen.setDashPattern([1, 1.6])
    elif style == "dash":
        pen.setDashPattern([3, 2])
    painter.setPen(pen)
    if style == "wave":
        lines = [piece for line in lines for piece in _wave(line)]
    painter.drawLines(lines)
    if style == "double":
        painter.drawLines([line.translated(0, 2.4) for line in lines])


def _wave(line: QLineF, step: float = 2.5, height: float = 1.6) -> Iterator[QLineF]:
    x, low = line.x1(), True
    while x < line.x2():
        after = min(x + step, line.x2())
        ends = (line.y1() + height, line.y1()) if low else (line.y1(), line.y1() + height)
        yield QLineF(x, ends[0], after, ends[1])
        x, low = after, not low
