"""How often events of one kind reach widgets."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QWidget


class Counted(QObject):
    """Counts from here on, by widget; it only looks."""

    def __init__(self, kind: QEvent.Type, *widgets: QWidget) -> None:
        super().__init__()
        self._kind = kind
        self.counts = dict.fromkeys(widgets, 0)
        for widget in widgets:
            widget.installEventFilter(self)

    @property
    def count(self) -> int:
        """All of them."""
        return sum(self.counts.values())

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802
        """Only look."""
        if event.type() == self._kind:
            self.counts[watched] += 1  # type: ignore[index]
        return False


def paintings(*widgets: QWidget) -> Counted:
    """Counts how often they are painted."""
    return Counted(QEvent.Type.Paint, *widgets)


def layouts(widget: QWidget) -> Counted:
    """Counts how often it is laid out anew."""
    return Counted(QEvent.Type.LayoutRequest, widget)
