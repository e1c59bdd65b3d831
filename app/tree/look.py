"""How each kind of node is drawn: card, border, edge, mark. Colours come from the theme; every colour has a shape twin.

Knows states, pens and paths; knows no records.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QFontMetricsF, QPainterPath, QPen, QTransform

from app.theme import theme
from app.tree.phases import Kind

MARKS = {"accepted": "tick", "rejected": "cross", "bonus": "star", "replayed": "again"}
NAMES: dict[Kind, str] = {
    "root": "root",
    "drafted": "drafted",
    "verified": "verified",
    "accepted": "accepted",
    "rejected": "rejected",
    "bonus": "bonus",
    "pruned": "pruned",
    "replayed": "run again",
}


MEANINGS: dict[Kind, str] = {
    "root": "root: the last decided token",
    "drafted": "drafted: a candidate of the draft head",
    "verified": "verified: the target has answered after it",
    "accepted": "accepted: the target chose the same token",
    "rejected": "rejected: the target chose another token",
    "bonus": "bonus: the target's own token at the end of the accepted path",
    "pruned": "pruned: a candidate that was not verified",
    "replayed": "run again: decided earlier, at the head of this pass",
}


@dataclass(frozen=True, slots=True)
class Look:
    """Pens and brushes of one kind of node."""

    border: QPen
    fill: QBrush
    text: QColor
    quiet: QColor  # second-rank text on the card
    edge: QColor
    edge_dash: tuple[float, float] | None  # pixels on, pixels off
    mark: str  # "" or a name for `mark_path`
    ink: QColor  # of the mark, on a plate of the edge's colour
    rim: QColor  # around the plate
    bold: bool
    double: bool  # a second border inside the first


class Face:
    """A font with its metrics; remembers what it measured."""

    def __init__(self, scale: float = 1.0, bold: bool = False) -> None:
        self.font = theme().font(scale, bold=bold)
        self.metrics = QFontMetricsF(self.font)
        self.height, self.ascent = self.metrics.height(), self.metrics.ascent()
        self._widths: dict[str, float] = {}

    def width(self, text: str) -> float:
        """Advance of a line, in scene units."""
        if text not in self._widths:
            self._widths[text] = self.metrics.horizontalAdvance(text)
        return self._widths[text]

    def fit(self, text: str, room: float, end: bool = False) -> str:
        """The text, cut with an ellipsis where it is too long: in the middle, for tokens differ at both ends."""
        if self.width(text) <= room:
            return text
        mode = Qt.TextElideMode.ElideRight if end else Qt.TextElideMode.ElideMiddle
        return self.metrics.elidedText(text, mode, room)


class Measures:
    """Sizes of the drawing in scene units, from the font, and the looks in it. Equal for all cards: columns line up.

    Cards have two lines; those of pruned candidates are smaller, left to right they have one.

    Attributes:
        card, ghost: width and height of a card, and of the smaller one of a pruned candidate.
        level_gap: free space between levels, room for an edge and its number.
    """

    def __init__(self, sideways: bool) -> None:
        self.sideways = sideways
        self.body, self.bold, self.small = Face(), Face(bold=True), Face(SMALL)
        self._looks: dict[Kind, Look] = {}
        self._pens: dict[tuple[Kind, int], QPen] = {}
        em, line, small = self.body.width("n"), self.body.height, self.small.height
        self.card, self.pad = (em * 12, line + small + 9), 6.0
        if sideways:
            self.ghost = (em * 12, small + 5)
            self.level_gap, self.sibling_gap = em * 6.5, 8.5
        else:
            self.ghost = (em * 9.5, 2 * small + 5)
            self.level_gap, self.sibling_gap = small * 3.4, 9.0

    def rect(self, small: bool) -> QRectF:
        """A card around its place; small ones start where the others start, so that a level has a straight edge."""
        width, height = self.ghost if small else self.card
        if self.sideways:
            return QRectF(-self.card[0] / 2, -height / 2, width, height)
        return QRectF(-width / 2, -self.card[1] / 2, width, height)

    def look(self, kind: Kind) -> Look:
        """`look`, remembered."""
        if kind not in self._looks:
            self._looks[kind] = look(kind)
        return self._looks[kind]

    def pen(self, kind: Kind, p: float) -> QPen:
        """Pen of an edge of draft probability `p` (nan: none is known): its width is p, to the percent."""
        key = kind, 0 if math.isnan(p) else round(100 * p)
        if key not in self._pens:
            self._pens[key] = edge_pen(self.look(kind), edge_width(kind, key[1] / 100))
        return self._pens[key]

    def face(self, bold: bool, small: bool) -> Face:
        """The font of the token on a card."""
        return self.small if small else self.bold if bold else self.body


SMALL = 0.82  # second-rank text, times the body size


def look(kind: Kind) -> Look:
    """The look of a kind in the present theme."""
    t = theme()
    surface, text, muted = t.color("surface"), t.color("text"), t.color("muted")
    fate = "drafted" if kind in ("verified", "hidden") else kind
    stroke = muted if kind in ("root", "replayed") else t.fate(fate)  # type: ignore[arg-type]
    fills = {
        "root": t.color("raised"),
        "accepted": stroke,
        "bonus": mix(stroke, surface, 0.22),
        "verified": mix(stroke, surface, 0.22),
        "rejected": mix(stroke, surface, 0.06),
        "pruned": QColor(Qt.GlobalColor.transparent),
    }
    widths = {"accepted": 2.5, "rejected": 1.8, "bonus": 1.6, "root": 1.8}
    dashes = {"rejected": (5.0, 3.0), "pruned": (1.5, 3.0)}
    pen = QPen(stroke, widths.get(kind, 1.2))
    if kind in dashes:
        pen.setCapStyle(Qt.PenCapStyle.FlatCap)
        pen.setDashPattern([length / pen.widthF() for length in dashes[kind]])
    on_card = QColor("#ffffff") if kind == "accepted" else muted if kind in ("pruned", "replayed") else text
    return Look(
        border=pen,
        fill=QBrush(fills.get(kind, surface)),
        text=on_card,
        quiet=on_card if kind == "accepted" else muted,
        edge=stroke,
        edge_dash=dashes.get(kind),
        mark=MARKS.get(kind, ""),
        ink=QColor("#1b1f24" if kind == "bonus" else "#ffffff"),
        rim=surface,
        bold=kind in ("accepted", "bonus", "root"),
        double=kind == "bonus",
    )


def mix(color: QColor, base: QColor, share: float) -> QColor:
    """`share` of a colour over a base, opaque."""
    pairs = ((color.redF(), base.redF()), (color.greenF(), base.greenF()), (color.blueF(), base.blueF()))
    return QColor.fromRgbF(*(share * c + (1 - share) * b for c, b in pairs))


def edge_width(kind: Kind, p: float) -> float:
    """Width of an edge of draft probability `p`; the accepted path never gets thin."""
    least, most = {"accepted": (3.5, 8.0), "bonus": (2.5, 2.5), "pruned": (1.0, 2.5), "rejected": (1.2, 5.0)}.get(
        kind, (0.8, 5.0)
    )
    return least + (most - least) * max(0.0, min(1.0, p))


def edge_pen(style: Look, width: float) -> QPen:
    """Pen of an edge."""
    pen = QPen(style.edge, width)
    pen.setCapStyle(Qt.PenCapStyle.FlatCap)
    if style.edge_dash:
        pen.setDashPattern([length / width for length in style.edge_dash])
    return pen


@cache
def mark_path(name: str, size: float) -> QPainterPath:
    """Tick, cross, star or circular arrow around the origin; paths, so that no font can lack them.

    All are to be stroked, the star also filled. `size` is half the side of their square.
    """
    path = QPainterPath()
    if name == "tick":
        path.addPolygon([QPointF(-0.75, 0.05), QPointF(-0.2, 0.6), QPointF(0.8, -0.6)])
    elif name == "cross":
        for x in (-0.6, 0.6):
            path.moveTo(x, -0.6)
            path.lineTo(-x, 0.6)
    elif name == "star":
        radii = [1.0, 0.42] * 5
        turns = [math.pi * i / 5 for i in range(10)]
        points = [QPointF(math.sin(t) * r, -math.cos(t) * r) for t, r in zip(turns, radii, strict=True)]
        path.addPolygon([*points, points[0]])
    elif name == "again":
        path.arcMoveTo(QRectF(-0.75, -0.75, 1.5, 1.5), 60)
        path.arcTo(QRectF(-0.75, -0.75, 1.5, 1.5), 60, 280)
        path.moveTo(0.1, -0.95)
        path.lineTo(0.42, -0.62)
        path.lineTo(0.05, -0.3)
    return QTransform.fromScale(size, size).map(path)
