"""Where things are in a tree view, and the wheel over it."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent


def spot(view, key):
    """Middle of a card in viewport pixels."""
    return view.mapFromScene(view.tree.nodes[key].pos())


def wheel(view, delta, modifiers):
    """A turn of the wheel over the middle."""
    at = QPointF(view.viewport().rect().center())
    event = QWheelEvent(
        at, view.viewport().mapToGlobal(at), QPoint(), QPoint(0, delta), Qt.MouseButton.NoButton, modifiers,
        Qt.ScrollPhase.NoScrollPhase, False,
    )  # fmt: skip
    view.wheelEvent(event)


def seen(view):
    """What is in sight, in scene units."""
    return view.mapToScene(view.viewport().rect()).boundingRect()
