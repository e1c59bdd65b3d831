"""The tree of one round as a scene: places cards, keeps their items, marks the hovered, pinned and current one.

Items live as long as their key is shown, so a node keeps its item and its place from phase to phase. Knows no window.
"""

from __future__ import annotations

from PySide6.QtCore import QMarginsF, QObject, QPointF, QRectF
from PySide6.QtWidgets import QGraphicsScene

from app.theme import theme
from app.tree.drawing import EMPTY, OWN, Card, Drawing, Key
from app.tree.items import EdgesItem, NodeItem, make_edge
from app.tree.layout import tidy
from app.tree.look import Measures

MARGIN = 14.0
MARGINS = QMarginsF(MARGIN, MARGIN, MARGIN, MARGIN)


class TreeScene(QGraphicsScene):
    """Cards and edges of a `Drawing`.

    Attributes:
        drawing: what is shown.
        nodes: item by key, hidden ones included.
        edges: the item that draws all edges.
        content_rect: all places, of hidden cards too, so that the view does not jump from phase to phase.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.setItemIndexMethod(QGraphicsScene.ItemIndexMethod.NoIndex)
        self.drawing: Drawing = EMPTY
        self.content_rect = QRectF()
        self._spots: dict[Key, tuple[float, float]] = {}
        self._pitch = 0.0
        self._measures: Measures | None = None
        self.nodes: dict[Key, NodeItem] = {}
        self.edges = EdgesItem()
        self.addItem(self.edges)
        self._rings: dict[str, Key | None] = {"hovered": None, "pinned": None, "current": None}

    def show_drawing(self, drawing: Drawing, sideways: bool = True) -> None:
        """Show other cards; items whose key stays are kept."""
        if self._measures is None or self._measures.sideways != sideways:
            self._measures = Measures(sideways)
        old, self.drawing = {c.key: c for c in self.drawing.cards}, drawing
        keys = {card.key for card in drawing.cards}
        for key in [k for k in self.nodes if k not in keys]:
            self.removeItem(self.nodes.pop(key))
        for card in drawing.cards:
            item = self.nodes.get(card.key)
            if item is None:
                item = self.nodes[card.key] = NodeItem(card.key)
                self.addItem(item)
            if item.measures is not self._measures or old.get(card.key) != card:
                item.set_card(card, self._measures)
        self._place(self._measures)
        self._join(self._measures)
        self._draw_rings(*self._rings.values())
        self.setSceneRect(self.content_rect)

    def restyle(self) -> None:
        """Colours or fonts changed."""
        self.setBackgroundBrush(theme().color("surface"))
        sideways, self._measures = self.sideways, None
        self.show_drawing(self.drawing, sideways)

    def mark(self, ring: str, key: Key | None) -> None:
        """Put the `hovered`, `pinned` or `current` ring on a card, or on none."""
        if self._rings[ring] != key:
            before, self._rings[ring] = self._rings[ring], key
            self._draw_rings(before, key)

    def marked(self, ring: str) -> Key | None:
        """The key of the card that has a ring and is visible, or None."""
        key = self._rings[ring]
        return key if key in self.nodes and self.nodes[key].isVisible() else None

    def take_rings(self) -> dict[str, Key | None]:
        """Remove all rings for a picture; give them back with `give_rings`."""
        rings = dict(self._rings)
        for ring in rings:
            self.mark(ring, None)
        return rings

    def give_rings(self, rings: dict[str, Key | None]) -> None:
        """The rings that `take_rings` took."""
        for ring, key in rings.items():
            self.mark(ring, key)

    @property
    def sideways(self) -> bool:
        """Left to right; False is top-down."""
        return self._measures is None or self._measures.sideways

    def card(self, key: Key) -> Card:
        """What is shown under a key."""
        return next(c for c in self.drawing.cards if c.key == key)

    def key_at(self, at: QPointF) -> Key | None:
        """The visible card at a scene point, or None."""
        for key, (x, y) in self._spots.items():
            item = self.nodes[key]
            if item.isVisible() and item.rect.contains(at.x() - x, at.y() - y):
                return key
        return None

    def centres(self) -> dict[Key, tuple[int, float]]:
        """Level (counted from the root) and place across of every visible card."""
        pitch = self._pitch or 1.0
        spots = {k: (x, y) if self.sideways else (y, x) for k, (x, y) in self._spots.items()}
        return {k: (round(along / pitch), across) for k, (along, across) in spots.items() if self.nodes[k].isVisible()}

    def path_rect(self) -> QRectF:
        """Root, accepted path and the target's own token."""
        rect = QRectF()
        for card in self.drawing.cards:
            if card.kind in ("root", "accepted", "bonus") or card.key == OWN:
                item = self.nodes[card.key]
                rect |= item.rect.translated(item.pos())
        return rect.adjusted(-MARGIN, -MARGIN, MARGIN, MARGIN)

    def _place(self, measures: Measures) -> None:
        self._spots.clear()
        first = self.drawing.first
        if first is None:
            self.content_rect = QRectF()
            return
        side = 1 if measures.sideways else 0
        sizes = {c.key: (measures.ghost if c.small else measures.card)[side] for c in self.drawing.cards}
        spine = self.drawing.spine
        places = tidy(first, self.drawing.children(), sizes.__getitem__, measures.sibling_gap, spine)
        origin = places.get(0, places[first])
        pitch = self._pitch = measures.card[1 - side] + measures.level_gap
        for key, place in places.items():
            along, across = (place.depth - origin.depth) * pitch, place.across - origin.across
            self._spots[key] = (along, across) if measures.sideways else (across, along)
            self.nodes[key].setPos(*self._spots[key])
        xs, ys = zip(*self._spots.values(), strict=True)
        width, height = measures.card
        rect = QRectF(min(xs), min(ys), max(xs) - min(xs), max(ys) - min(ys))
        self.content_rect = rect.adjusted(-width / 2, -height / 2, width / 2, height / 2) + MARGINS

    def _join(self, measures: Measures) -> None:
        """An edge to every visible card, from its parent's border to its own."""
        side = 0 if measures.sideways else 1
        reach = measures.card[side] / 2
        edges = []
        for card in self.drawing.cards:
            if card.parent is None or card.kind == "hidden":
                continue
            (x0, y0), (x, y) = self._spots[card.parent], self._spots[card.key]
            before = self.nodes[card.parent].rect
            if measures.sideways:
                edges.append(make_edge(card, (x0 + before.right(), y0), (x - reach, y), measures))
            else:
                edges.append(make_edge(card, (x0, y0 + before.bottom()), (x, y - reach), measures))
        self.edges.set_edges(edges, measures, self.content_rect)

    def _draw_rings(self, *keys: Key | None) -> None:
        for key in keys:
            if key in self.nodes:
                self.nodes[key].set_ring(**{ring: key == marked for ring, marked in self._rings.items()})
