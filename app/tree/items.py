"""The things in the tree scene: a card per node, and one item that draws all edges.

An item shows what it is given. Knows no record, no layout and no selection.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPen
from PySide6.QtWidgets import QGraphicsItem, QStyleOptionGraphicsItem, QWidget

from app.theme import theme
from app.tree.drawing import Card, Key
from app.tree.look import Look, Measures
from app.tree.paint import Line, line, paint_frame, paint_lines, paint_mark
from app.tree.phases import Kind
from app.tree.words import percent

LEGIBLE = 0.33  # below this zoom, text is too small to read and is left out
ORDER: tuple[Kind, ...] = ("pruned", "rejected", "drafted", "verified", "replayed", "root", "bonus", "accepted")
LEFT, RIGHT, CENTRE = Qt.AlignmentFlag.AlignLeft, Qt.AlignmentFlag.AlignRight, Qt.AlignmentFlag.AlignHCenter


class NodeItem(QGraphicsItem):
    """A card: token text, a number, a border and a mark that say how it ended.

    Attributes:
        key: which card; `kind`, `text`, `number`: what it shows (`text` not yet elided).
        rect: the card around its place; `measures`: the sizes it was laid out with.
        hovered, pinned, current: rings around it; `current` is the keyboard's.
    """

    def __init__(self, key: Key) -> None:
        super().__init__()
        self.key = key
        self.kind: Kind = "hidden"
        self.text = self.number = ""
        self.hovered = self.pinned = self.current = False
        self.rect = QRectF()
        self._small = False
        self.measures: Measures | None = None
        self._look: Look | None = None
        self._lines: list[Line] | None = None  # laid out when first painted
        self.setZValue(2)

    def set_card(self, card: Card, measures: Measures) -> None:
        """Show a card; `hidden` makes it invisible and keeps its place."""
        self.prepareGeometryChange()
        self.kind, self.text, self.number, self._small = card.kind, card.text, card.number, card.small
        self.rect, self._look, self.measures = measures.rect(card.small), measures.look(card.kind), measures
        self._lines = None
        self.setVisible(card.kind != "hidden")
        self.setZValue(1 if card.kind == "pruned" else 3 if self._look.bold else 2)
        self.update()

    @property
    def shown_text(self) -> str:
        """The text as painted, elided where it is too long."""
        return self.lines()[0].text

    def lines(self) -> list[Line]:
        """Token and number, laid out; only what comes into sight pays for it."""
        if self._lines is None and self.measures and self._look:
            self._lines = self._lay_out(self.measures, self._look)
        return self._lines or []

    def _lay_out(self, measures: Measures, style: Look) -> list[Line]:
        face, small = measures.face(style.bold, self._small), measures.small
        inside = self.rect.adjusted(measures.pad, 0, -measures.pad, 0)
        number, room = small.fit(self.number, inside.width()), inside.width()
        if not self._small and face.width(self.text) > room >= measures.small.width(self.text):
            face = measures.small  # smaller rather than cut
        beside = self._small and measures.sideways
        text = face.fit(self.text, room - (small.width(number) + measures.pad if beside and number else 0))
        if beside:
            return [
                line(face, text, inside, style.text, LEFT),
                line(small, number, inside, style.quiet, RIGHT),
            ]
        if not number:
            return [line(face, text, inside, style.text, CENTRE)]
        lower = small.height + 3
        return [
            line(face, text, inside.adjusted(0, 2, 0, -lower), style.text, CENTRE),
            line(small, number, inside.adjusted(0, inside.height() - lower, 0, -3), style.quiet, CENTRE),
        ]

    def set_ring(self, *, hovered: bool, pinned: bool, current: bool) -> None:
        """Mark as under the mouse, as pinned, as the keyboard's."""
        if (hovered, pinned, current) != (self.hovered, self.pinned, self.current):
            self.hovered, self.pinned, self.current = hovered, pinned, current
            self.update()

    def boundingRect(self) -> QRectF:  # noqa: D102
        return self.rect.adjusted(-9, -9, 9, 9)

    def shape(self) -> QPainterPath:  # noqa: D102
        path = QPainterPath()
        path.addRect(self.rect)
        return path

    def paint(self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None) -> None:  # noqa: D102
        style, measures = self._look, self.measures
        if style is None or measures is None:
            return
        self._paint_ring(painter)
        if option.levelOfDetailFromTransform(painter.worldTransform()) < LEGIBLE:
            painter.setPen(QPen(style.edge, style.border.widthF()))
            painter.setBrush(style.fill)
            painter.drawRect(self.rect)
            return
        paint_frame(painter, self.rect, style)
        paint_lines(painter, self.lines())
        paint_mark(painter, self.rect.topRight() + QPointF(-1, 1), 7.0, style)

    def _paint_ring(self, painter: QPainter) -> None:
        """Pinned: a wide line. Hovered: a thin one. Keyboard: a dotted one."""
        painter.setBrush(Qt.BrushStyle.NoBrush)
        if self.pinned:
            painter.setPen(QPen(theme().color("text"), 3.2))
            painter.drawRoundedRect(self.rect.adjusted(-6, -6, 6, 6), 9, 9)
        if self.hovered or self.current:
            pen = QPen(theme().color("text" if self.hovered else "accent"), 1.8)
            pen.setStyle(Qt.PenStyle.SolidLine if self.hovered else Qt.PenStyle.DotLine)
            painter.setPen(pen)
            painter.drawRoundedRect(self.rect.adjusted(-3.5, -3.5, 3.5, 3.5), 7, 7)


@dataclass(frozen=True, slots=True)
class Edge:
    """A line from a parent to a card, and its number; pruned candidates have their number on the card only."""

    key: Key  # of the card it leads to
    kind: Kind
    start: tuple[float, float]
    end: tuple[float, float]
    pen: QPen
    label: str
    at: QRectF  # where the label goes


class EdgesItem(QGraphicsItem):
    """All edges, the accepted path on top.

    Attributes:
        edges: by the key of the card they lead to.
    """

    def __init__(self) -> None:
        super().__init__()
        self.edges: dict[Key, Edge] = {}
        self._rect = QRectF()
        self._paths: list[tuple[QPen, QPainterPath]] = []
        self._labels: list[Line] = []
        self._grounds: list[QRectF] = []
        self._surface = QColor()
        self.setZValue(0)
        self.setAcceptedMouseButtons(Qt.MouseButton.NoButton)

    def set_edges(self, edges: list[Edge], measures: Measures, rect: QRectF) -> None:
        """Draw these edges, all within `rect`."""
        self.prepareGeometryChange()
        self._rect = rect
        edges = sorted(edges, key=lambda e: ORDER.index(e.kind))
        self.edges = {edge.key: edge for edge in edges}
        paths: dict[int, tuple[QPen, QPainterPath]] = {}
        for edge in edges:
            _, path = paths.setdefault(id(edge.pen), (edge.pen, QPainterPath()))
            _add_curve(path, *edge.start, *edge.end, measures.sideways)
        self._paths = list(paths.values())
        text, muted = theme().color("text"), theme().color("muted")
        self._surface = theme().color("surface")
        self._surface.setAlpha(205)
        self._grounds = [e.at for e in edges if e.label]  # a line that passes behind a number must not cross it out
        self._labels = [
            line(measures.small, e.label, e.at, text if e.kind == "accepted" else muted, CENTRE)
            for e in edges
            if e.label
        ]
        self.update()

    def boundingRect(self) -> QRectF:  # noqa: D102
        return self._rect

    def paint(self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None) -> None:  # noqa: D102
        painter.setBrush(Qt.BrushStyle.NoBrush)
        for pen, path in self._paths:
            painter.setPen(pen)
            painter.drawPath(path)
        if option.levelOfDetailFromTransform(painter.worldTransform()) < LEGIBLE:
            return
        for ground in self._grounds:
            painter.fillRect(ground, self._surface)
        paint_lines(painter, self._labels)


def make_edge(card: Card, start: tuple[float, float], end: tuple[float, float], measures: Measures) -> Edge:
    """An edge with its number at the end, on the side that the curve does not come from."""
    pen = measures.pen(card.kind, card.p)
    if card.kind == "pruned" or math.isnan(card.p):
        return Edge(card.key, card.kind, start, end, pen, "", QRectF())
    label = percent(card.p)
    width, height, half = measures.small.width(label) + 2, measures.small.height, pen.widthF() / 2
    (x0, y0), (x, y) = start, end
    if measures.sideways:
        at = QRectF(x - width - 3, y + (half if y > y0 else -half - height), width, height)
    else:
        at = QRectF(x + (half + 1 if x >= x0 else -half - 1 - width), y - height, width, height)
    return Edge(card.key, card.kind, start, end, pen, label, at)


def _add_curve(path: QPainterPath, x0: float, y0: float, x: float, y: float, sideways: bool) -> None:
    """A curve that turns early, so that its end is straight and has room for a number."""
    path.moveTo(x0, y0)
    if sideways:
        path.cubicTo(x0 + 0.35 * (x - x0), y0, x0 + 0.35 * (x - x0), y, x, y)
    else:
        path.cubicTo(x0, y0 + 0.35 * (y - y0), x, y0 + 0.35 * (y - y0), x, y)
