"""How the timeline looks: token bars above, time bars below, marks around the shown, hovered and pinned round."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen

from app.theme import theme
from app.tree.look import SMALL, Face, mix
from app.tree.paint import line, paint_lines
from engine.trace import Round

COPIED = "copied"
FRAMED = 6.0  # pixels from which a token's cell has room for a frame
TIME_PARTS = ("draft", "verify", "commit", "host")  # from the bottom
SHARE = 0.55  # of the height below the readout that the token lane takes
LEFT, RIGHT = Qt.AlignmentFlag.AlignLeft, Qt.AlignmentFlag.AlignRight


@dataclass(frozen=True, slots=True)
class Frame:
    """All that is needed to paint."""

    rounds: Sequence[Round]
    sight: tuple[int, int]  # bars to paint: first ≤ i < last
    pitch: float
    offset: float
    rect: QRectF
    margins: tuple[float, float]  # room left for the values of the axes, above for the readout
    most: tuple[int, float]  # top of the lanes: tokens, milliseconds
    copied: Sequence[tuple[bool, ...]]  # per round, which tokens are copies of earlier text
    current: int
    hovered: int
    pinned: int
    live: bool
    readout: str
    focused: bool

    @property
    def gutter(self) -> float:
        """Left side of the lanes."""
        return self.margins[0]

    @property
    def head(self) -> float:
        """Top of the lanes."""
        return self.margins[1]

    def in_sight(self, index: int) -> bool:
        """Whether a round's bar is painted."""
        return self.sight[0] <= index < self.sight[1]

    @property
    def tokens(self) -> QRectF:
        """The upper lane."""
        height = (self.rect.height() - self.head - 10) * SHARE
        return QRectF(self.gutter, self.head, self.rect.width() - self.gutter - 4, height)

    @property
    def times(self) -> QRectF:
        """The lower lane."""
        top = self.tokens.bottom() + 8
        return QRectF(self.gutter, top, self.tokens.width(), self.rect.height() - top - 2)

    def x(self, index: int) -> float:
        """Left side of a bar."""
        return self.gutter + index * self.pitch - self.offset


def duration(ms: float) -> str:
    """As the axis says it: never wider than six characters."""
    return f"{ms:.0f} ms" if ms < 999.5 else f"{ms / 1000:.1f} s"


def paint_timeline(painter: QPainter, frame: Frame) -> None:
    """Everything, from the ground up."""
    t = theme()
    painter.fillRect(frame.rect, t.color("surface"))
    _axes(painter, frame)
    painter.save()
    painter.setClipRect(QRectF(frame.gutter, 0, frame.tokens.width(), frame.rect.height()))
    _column(painter, frame, frame.hovered, t.color("hover"))
    _column(painter, frame, frame.current, t.color("accent_soft"))
    colors = {"draft": t.fate("accepted"), "bonus": t.fate("bonus"), "plain": t.fate("pruned")}
    times = {name: t.time(name) for name in TIME_PARTS}
    gap = 1.0 if frame.pitch < 8 else 2.0
    painter.setPen(Qt.PenStyle.NoPen)
    tokens = _tokens(frame, gap)
    copies = tokens.pop(COPIED, [])
    for bars, paints in ((tokens, colors), (_times(frame, gap), times)):
        for name, rects in bars.items():
            painter.setBrush(paints.get(name, colors["bonus"]))
            painter.drawRects(rects)
    _hollow(painter, copies)
    _marks(painter, frame)
    painter.restore()
    _head(painter, frame)
    if frame.focused:
        painter.setPen(QPen(t.color("accent"), 1.5))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRect(frame.rect.adjusted(1, 1, -1, -1))


def _axes(painter: QPainter, frame: Frame) -> None:
    t, face = theme(), Face(SMALL)
    painter.setPen(QPen(t.color("line"), 1))
    lines = []
    for lane, most, unit in (
        (frame.tokens, str(frame.most[0]), "tokens"),
        (frame.times, duration(frame.most[1]), "time"),
    ):
        painter.drawLine(QLineF(lane.bottomLeft(), lane.bottomRight()))
        painter.drawLine(QLineF(lane.topLeft(), lane.topRight()))
        top = QRectF(0, lane.top() - 2, frame.gutter - 6, face.height)
        lines.append(line(face, most, top, t.color("muted"), RIGHT))
        if lane.height() > 2 * face.height:
            lines.append(line(face, unit, top.translated(0, lane.height() - face.height + 4), t.color("muted"), RIGHT))
    paint_lines(painter, lines)


def _column(painter: QPainter, frame: Frame, index: int, color: QColor) -> None:
    if frame.in_sight(index):
        painter.fillRect(
            QRectF(frame.x(index), frame.head - 2, frame.pitch, frame.rect.height() - frame.head + 2), color
        )


def _tokens(frame: Frame, gap: float) -> dict[str, list[QRectF]]:
    """A cell per token, by its source: accepted ones below, the target's own on top. Low cells of copies are joined:
    frames of their own would fill them."""
    lane = frame.tokens
    cells: dict[str, list[QRectF]] = defaultdict(list)
    unit, bottom, width = lane.height() / frame.most[0], lane.bottom(), frame.pitch - gap
    height = unit - (1.0 if unit >= 4 else 0.0)
    for index in range(*frame.sight):
        x, y = frame.x(index) + gap / 2, bottom
        for token, copied in zip(frame.rounds[index].emitted, frame.copied[index], strict=True):
            y -= unit
            cell, copies = QRectF(x, y, width, height), cells[COPIED]
            if not copied:
                cells[token.source].append(cell)
            elif unit < FRAMED and copies and copies[-1].x() == x:
                copies[-1] = copies[-1].united(cell)
            else:
                copies.append(cell)
    return cells


def _hollow(painter: QPainter, rects: list[QRectF]) -> None:
    """Accepted like the others, but not by a draft head: the same colour as a frame."""
    color = theme().fate("accepted")
    surface = theme().color("surface")
    low = [rect for rect in rects if rect.height() < FRAMED]
    painter.setBrush(mix(color, surface, 0.45))
    painter.drawRects(low)
    painter.setPen(QPen(color, 1))
    painter.setBrush(mix(color, surface, 0.2))
    painter.drawRects([rect.adjusted(0.5, 0.5, -0.5, -0.5) for rect in rects if rect.height() >= FRAMED])
    painter.setPen(Qt.PenStyle.NoPen)


def _times(frame: Frame, gap: float) -> dict[str, list[QRectF]]:
    """A piece per part of a round's time, stacked."""
    lane = frame.times
    pieces: dict[str, list[QRectF]] = defaultdict(list)
    scale, bottom, width = lane.height() / frame.most[1], lane.bottom(), frame.pitch - gap
    for index in range(*frame.sight):
        times, x, y = frame.rounds[index].timings, frame.x(index) + gap / 2, bottom
        for name in TIME_PARTS:
            height = getattr(times, name) * scale
            y -= height
            pieces[name].append(QRectF(x, y, width, height))
    return pieces


def _marks(painter: QPainter, frame: Frame) -> None:
    """A frame around the shown round, a pointer above the pinned one."""
    painter.setBrush(Qt.BrushStyle.NoBrush)
    if frame.in_sight(frame.current):
        column = QRectF(frame.x(frame.current), frame.head - 2, frame.pitch, frame.rect.height() - frame.head + 1)
        painter.setPen(QPen(theme().color("accent"), 2))
        painter.drawRect(column)
    if frame.in_sight(frame.pinned):
        tip = QPointF(frame.x(frame.pinned) + frame.pitch / 2, frame.head + 7)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(theme().color("surface"), 1))
        painter.setBrush(theme().color("text"))
        painter.drawPolygon([tip, tip + QPointF(-6, -10), tip + QPointF(6, -10)])
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)


def _head(painter: QPainter, frame: Frame) -> None:
    """The readout left, what the colours mean right, where there is room."""
    t, face = theme(), Face(0.92)
    small = Face(SMALL)
    rect = QRectF(4, 0, frame.rect.width() - 8, frame.head - 3)
    keys = [(name, t.time(name)) for name in TIME_PARTS]
    if any(map(any, frame.copied)):
        keys.insert(0, (COPIED, t.fate("accepted")))
    wide = sum(small.width(name) + 24 for name, _ in keys)
    if face.width(frame.readout) + wide + 16 < rect.width():
        x = rect.right() - wide
        for name, color in keys:
            square = QRectF(x + 6, rect.center().y() - 5, 10, 10)
            if name == COPIED:
                _hollow(painter, [square])
            else:
                painter.fillRect(square, color)
            x += 20
            at = QRectF(x, 0, small.width(name), rect.height())
            paint_lines(painter, [line(small, name, at, t.color("muted"), LEFT)])
            x += small.width(name) + 4
    text = face.fit(frame.readout, rect.width(), end=True)
    paint_lines(painter, [line(face, text, rect, t.color("text"), LEFT)])
