"""Walking a drawn tree by keyboard: which key leads where; which card lies back, on, before or after. Knows no view."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import Qt

from app.tree.drawing import Drawing, Key

FIRST_CHOICE = ("accepted", "bonus", "root")
WALK = {  # key: where it leads when the tree grows sideways, and when it grows down
    Qt.Key.Key_Left: ("back", "previous"),
    Qt.Key.Key_Right: ("on", "next"),
    Qt.Key.Key_Up: ("previous", "back"),
    Qt.Key.Key_Down: ("next", "on"),
    Qt.Key.Key_Home: ("first", "first"),
    Qt.Key.Key_End: ("last", "last"),
}


def neighbour(
    drawing: Drawing, centres: Mapping[Key, tuple[int, float]], current: Key | None, towards: str
) -> Key | None:
    """The visible card towards "back" (parent), "on" (child, the accepted one first), "previous" or "next" in its
    level, "first" (start of the tree) or "last" (end of the accepted path); None where there is none.

    `centres`: level and place across of every visible card.
    """
    cards = {c.key: c for c in drawing.cards if c.key in centres}
    if not cards:
        return None
    if towards == "last":
        path = [k for k, c in cards.items() if c.kind in FIRST_CHOICE]
        return max(path or cards, key=lambda k: centres[k][0])
    if current not in cards or towards == "first":
        return next((k for k in cards if k == 0), next(iter(cards)))
    if towards == "back":
        parent = cards[current].parent
        return parent if parent in cards else None
    if towards == "on":
        below = [c for c in cards.values() if c.parent == current]
        chosen = [c.key for c in below if c.kind in FIRST_CHOICE] or [c.key for c in below]
        return chosen[0] if chosen else None
    level = sorted((k for k in cards if centres[k][0] == centres[current][0]), key=lambda k: centres[k][1])
    place = level.index(current) + (1 if towards == "next" else -1)
    return level[place] if 0 <= place < len(level) else None
