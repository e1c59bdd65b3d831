"""Painting of cards, marks and lines of text, shared by the tree and its legend. Plain text only, never rich text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from PySide6.QtCore import QPointF, QRect, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QFont, QPainter, QPen

from app.theme import theme
from app.tree.look import Face, Look, mark_path

RADIUS = 5.0
BY_KEY = (Qt.FocusReason.TabFocusReason, Qt.FocusReason.BacktabFocusReason, Qt.FocusReason.ShortcutFocusReason)


class Line(NamedTuple):
    """One line of plain text; `at` is the left end of its base line."""

    at: QPointF
    text: str
    font: QFont
    ink: QColor


def line(face: Face, text: str, rect: QRectF, ink: QColor, align: Qt.AlignmentFlag) -> Line:
    """A line in a rectangle, vertically centred; nobody clips it, so fit it before."""
    free = rect.width() - face.width(text)
    shift = {Qt.AlignmentFlag.AlignLeft: 0.0, Qt.AlignmentFlag.AlignRight: free}.get(align, free / 2)
    at = QPointF(rect.x() + shift, rect.y() + (rect.height() - face.height) / 2 + face.ascent)
    return Line(at, text, face.font, ink)


def paint_lines(painter: QPainter, lines: Iterable[Line]) -> None:
    """Draw lines, left to right whatever their script."""
    painter.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
    for at, text, font, ink in lines:
        painter.setFont(font)
        painter.setPen(ink)
        painter.drawText(at, text)


def paint_focus(painter: QPainter, area: QRect) -> None:
    """A line just inside of a widget that has the focus and has nothing else to show it by."""
    painter.setPen(QPen(theme().color("accent"), 2))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.drawRect(area.adjusted(1, 1, -1, -1))


def paint_frame(painter: QPainter, rect: QRectF, style: Look) -> None:
    """Fill and border of a card; the bonus has two borders."""
    painter.setPen(style.border)
    painter.setBrush(style.fill)
    radius = min(RADIUS, rect.height() / 3)
    painter.drawRoundedRect(rect, radius, radius)
    if style.double:
        inner = rect.adjusted(3, 3, -3, -3)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(inner, radius - 2, radius - 2)


def paint_mark(painter: QPainter, centre: QPointF, size: float, style: Look) -> None:
    """The mark that doubles the colour of a kind, on a round plate of that colour."""
    if not style.mark:
        return
    painter.setPen(QPen(style.rim, 1.2))
    painter.setBrush(QBrush(style.edge))
    painter.drawEllipse(centre, size, size)
    pen = QPen(style.ink, size * (0.06 if style.mark == "star" else 0.22))
    pen.setCapStyle(Qt.PenCapStyle.RoundCap)
    pen.setJoinStyle(Qt.PenJoinStyle.RoundJoin)
    painter.setPen(pen)
    painter.setBrush(QBrush(style.ink) if style.mark == "star" else Qt.BrushStyle.NoBrush)
    painter.drawPath(mark_path(style.mark, size * 0.62).translated(centre))
