"""The widgets of a long column: made, measured, placed and forgotten when asked. Knows no view and no time.

Who scrolls it, and what is near enough to be made, is the business of `app.chat.flow`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence

from PySide6.QtCore import QEvent, QObject, QRect, Qt, Signal
from PySide6.QtWidgets import QWidget
from shiboken6 import delete

from app.chat.flow_items import Item, surplus


class Column(QObject):
    """Items from top to bottom, found by key.

    Signals:
        made: key and widget of an item that has one now.
        changed: key of an item whose widget wants another height.

    Attributes:
        canvas: what the widgets stand on.
        items: in their order.
    """

    made = Signal(int, QWidget)
    changed = Signal(int)

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.canvas = QWidget()
        self.canvas.setObjectName("canvas")
        self.canvas.setAttribute(Qt.WidgetAttribute.WA_StaticContents)
        self.items: list[Item] = []
        self._index: dict[int, int] = {}

    def set_items(self, items: list[Item]) -> None:
        """Replace everything; keys that were there keep their widgets."""
        old = {item.key: item for item in self.items}
        for item in items:
            if item.key in old:
                item.take_over(old.pop(item.key))
        for item in old.values():
            self._discard(item)
        self.items = items
        self._index = {item.key: n for n, item in enumerate(items)}

    def number_of(self, key: int) -> int | None:
        """Where an item stands, counted from the top; None for none of these."""
        return self._index.get(key)

    def widget_of(self, key: int) -> QWidget | None:
        """The widget of an item, if it exists now."""
        index = self._index.get(key)
        return self.items[index].widget if index is not None else None

    def widgets(self) -> list[QWidget]:
        """The widgets that exist, from top to bottom."""
        return [item.widget for item in self.items if item.widget is not None]

    def keep(self, key: int, keep: bool) -> None:
        """Whether an item's widget must stay."""
        if key in self._index:
            self.items[self._index[key]].keep = keep

    def remake(self, key: int) -> None:
        """Forget an item's widget; it is made anew when needed."""
        if key in self._index:
            item = self.items[self._index[key]]
            self._discard(item)
            item.width = 0

    def unmeasure(self, key: int) -> None:
        """The height of an item may be wrong."""
        if key in self._index:
            self.items[self._index[key]].width = 0

    def unmeasure_all(self) -> None:
        """All heights may be wrong, estimated ones too."""
        for item in self.items:
            item.width = item.guessed = 0

    def measure(self, numbers: Iterable[int], width: int, until: float = math.inf) -> bool:
        """Make and measure these items as long as the time allows; whether a height changed.

        `until`: a time of `time.perf_counter`, after which nothing else is begun; then the answer is no.
        """
        changed = False
        for number in numbers:
            item = self.items[number]
            if item.width == width and item.widget is not None:
                continue
            if time.perf_counter() > until:
                return False
            if item.widget is None:
                item.widget = item.make(self.canvas)
                item.widget.installEventFilter(self)
                item.width = 0
                self.made.emit(item.key, item.widget)
            if item.width != width:
                item.widget.ensurePolished()
                height = max(1, item.widget.heightForWidth(width))
                changed |= height != item.height
                item.height, item.width = height, width
        return changed

    def arrange(self, places: Sequence[int], first: int, last: int, left: int, width: int) -> None:
        """Put the widgets `first` to `last` (exclusive) where they belong and hide the others that need not stay."""
        for number, item in enumerate(self.items):
            if item.widget is None:
                continue
            if first <= number < last:
                item.widget.setGeometry(left, places[number], width, item.height)
                item.widget.show()
            elif not item.keep:
                item.widget.hide()

    def thin_out(self, first: int, last: int, focus: QWidget | None) -> None:
        """Forget the widgets that are too many, farthest from `first` to `last` first."""
        for item in surplus(self.items, first, last, focus):
            self._discard(item)

    def drop_unseen(self, view: QRect, focus: QWidget | None) -> None:
        """Forget the widgets that are outside a part of the canvas and need not stay."""
        for item in self.items:
            widget = item.widget
            if widget is None or item.keep or (widget.isVisible() and widget.geometry().intersects(view)):
                continue
            if focus is None or not widget.isAncestorOf(focus):
                self._discard(item)
                delete(widget)  # now, or a style sheet for all would polish it once more

    def _discard(self, item: Item) -> None:
        if item.widget is not None:
            item.widget.removeEventFilter(self)
            item.widget.hide()
            item.widget.deleteLater()
            item.widget = None

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """A widget whose content changed asks for a new layout."""
        if event.type() == QEvent.Type.LayoutRequest:
            item = next((item for item in self.items if item.widget is watched), None)
            if item is not None:
                self.changed.emit(item.key)
        return super().eventFilter(watched, event)
