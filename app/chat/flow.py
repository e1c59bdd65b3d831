"""A long column of widgets of which only those near the view exist. Knows nothing about messages.

The item at the top of the view stays where it is while heights above it become exact; or the bottom stays, while the
tail is followed. Other items are made a few per turn of the event loop, beginning at that end, so that none of those
that are there moves when the next ones come.
"""

from __future__ import annotations

import math
import time
from bisect import bisect_right
from collections.abc import Iterable

from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent, QPaintEvent, QResizeEvent, QWheelEvent
from PySide6.QtWidgets import QAbstractSlider, QFrame, QScrollArea, QWidget

from app.chat.flow_items import Item, near, order_tabs, surplus, tops
from app.theme import GAP

BOTTOM_SLACK = 4  # pixels from the end that still count as the end
READING_WIDTH = 860  # pixels; longer lines are hard to read
NEAR = 0.8  # of the view's height, made ahead above and below, one widget at a time
AHEAD_MS = 5
TURN_MS = 8.0  # after so long in one turn of the event loop no other widget is begun
ORDER_MS = 1000


class Flow(QScrollArea):
    """The column.

    Signals:
        made: key and widget of an item that has come near the view.
        following_changed: whether the end is followed.
    """

    made = Signal(int, QWidget)
    following_changed = Signal(bool)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._canvas = QWidget()
        self._canvas.setObjectName("canvas")
        self._canvas.setAttribute(Qt.WidgetAttribute.WA_StaticContents)
        self.setWidget(self._canvas)
        self.items: list[Item] = []
        self._index: dict[int, int] = {}
        self.following = True
        self._placing = self._painted = False
        self._anchor: tuple[int, int] = (0, 0)  # item and pixels of it above the view
        self._soon = QTimer(self, interval=0, singleShot=True)
        self._soon.timeout.connect(self._place_some)
        self._rest = QTimer(self, interval=0, singleShot=True)
        self._rest.timeout.connect(self._place_some)
        self._order = QTimer(self, interval=ORDER_MS, singleShot=True)
        self._order.timeout.connect(lambda: order_tabs(self, self.items))
        self._ahead = QTimer(self, interval=AHEAD_MS, singleShot=True)
        self._ahead.timeout.connect(self._make_ahead)
        self.verticalScrollBar().valueChanged.connect(self._scrolled)
        self.verticalScrollBar().actionTriggered.connect(self._acted)

    def set_items(self, items: list[Item], at_end: bool = True) -> None:
        """Replace everything; keys that were there keep their widgets."""
        old = {item.key: item for item in self.items}
        for item in items:
            if item.key in old:
                item.take_over(old.pop(item.key))
        for item in old.values():
            self._discard(item)
        self.items = items
        self._index = {item.key: n for n, item in enumerate(items)}
        self._set_following(at_end or self.following)
        self._place_some()

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

    def grown(self, key: int) -> None:
        """The content of an item was changed: place it now, so that it is drawn once, where it belongs."""
        if key in self._index:
            self.items[self._index[key]].width = 0
            self._place_some()

    def show_item(self, key: int, offset: int = 0) -> None:
        """Bring an item to the top of the view, `offset` pixels of it above."""
        if key in self._index:
            self._set_following(False)
            self._anchor = (self._index[key], offset)
            self.place()

    def show_end(self) -> None:
        """Go to the end and follow it."""
        self._set_following(True)
        self.place()

    def drop_unseen(self) -> None:
        """Forget the widgets that are out of view and need not stay: before something dear is done to all."""
        view = self.viewport().rect().translated(0, self.verticalScrollBar().value())
        focus = self.focusWidget()
        for item in self.items:
            widget = item.widget
            if widget is None or item.keep or (widget.isVisible() and widget.geometry().intersects(view)):
                continue
            if focus is None or not widget.isAncestorOf(focus):
                self._discard(item)

    def remeasure(self) -> None:
        """All heights may be wrong (font, theme)."""
        for item in self.items:
            item.width = item.guessed = 0
        self.place()

    def place(self) -> None:
        """Make, measure and place everything in view."""
        self._place_within(math.inf)

    def _place_some(self) -> None:
        """As much of it as one turn of the event loop can do; the rest follows."""
        self._place_within(TURN_MS)

    def _place_within(self, milliseconds: float) -> None:
        if self._placing or not self.isVisible():
            return
        self._placing = True
        self._rest.stop()
        try:
            self._place(milliseconds)
        finally:
            self._placing = False

    def _place(self, milliseconds: float) -> None:
        width, left = self._column()
        view = self.viewport().height()
        places, top, first, last, until = [0], 0, 0, 0, 0.0
        for _ in range(8):
            places = tops(self.items, width)
            top = self._wanted_top(places, view)
            first, last = near(places, top, view, 0)
            until = until or time.perf_counter() + milliseconds / 1000
            numbers = range(first, last)
            if not self._measure(reversed(numbers) if self.following else numbers, width, until):
                break
        missing = any(item.width != width for item in self.items[first:last])
        first, last = near(places, top, view, int(view * NEAR))
        if missing:
            self._rest.start()
        elif any(item.width != width for item in self.items[first:last]):
            self._ahead.start()
        self._canvas.resize(self.viewport().width(), max(places[-1], 1))
        for number, item in enumerate(self.items):
            if item.widget is None:
                continue
            if first <= number < last:
                item.widget.setGeometry(left, places[number], width, item.height)
                item.widget.show()
            elif not item.keep:
                item.widget.hide()
        for item in surplus(self.items, first, last, self.focusWidget()):
            self._discard(item)
        bar = self.verticalScrollBar()
        bar.setSingleStep(40)
        bar.setValue(top)
        self._remember(places, bar.value())

    def _column(self) -> tuple[int, int]:
        room = self.viewport().width() - 2 * GAP
        width = max(120, min(room, READING_WIDTH))
        return width, max(GAP, (self.viewport().width() - width) // 2)

    def _wanted_top(self, places: list[int], view: int) -> int:
        end = max(0, places[-1] - view)
        if self.following:
            return end
        index, offset = self._anchor
        index = min(index, len(self.items) - 1)
        return max(0, min(end, places[index] + offset)) if index >= 0 else 0

    def _make_ahead(self) -> None:
        """Make one widget that is not in view yet, so that scrolling finds it ready."""
        if self._placing or not self.isVisible():
            return
        width, view = self._column()[0], self.viewport().height()
        first, last = near(tops(self.items, width), self.verticalScrollBar().value(), view, int(view * NEAR))
        wanted = [n for n in range(first, last) if self.items[n].width != width]
        if wanted:
            self._measure(wanted[-1:], width)
            self._place_some()

    def _measure(self, numbers: Iterable[int], width: int, until: float = math.inf) -> bool:
        """Measure these items as long as the time allows; whether to do it again, because a height changed."""
        changed = False
        for number in numbers:
            item = self.items[number]
            if item.width == width and item.widget is not None:
                continue
            if time.perf_counter() > until:
                return False
            if item.widget is None:
                item.widget = item.make(self._canvas)
                item.widget.installEventFilter(self)
                item.width = 0
                self.made.emit(item.key, item.widget)
                self._order.start()
            if item.width != width:
                item.widget.ensurePolished()
                height = max(1, item.widget.heightForWidth(width))
                changed |= height != item.height
                item.height, item.width = height, width
        return changed

    def _discard(self, item: Item) -> None:
        if item.widget is not None:
            item.widget.removeEventFilter(self)
            item.widget.hide()
            item.widget.deleteLater()
            item.widget = None

    def _remember(self, places: list[int], top: int) -> None:
        index = max(0, min(len(self.items) - 1, bisect_right(places, top) - 1)) if self.items else 0
        self._anchor = (index, top - places[index])

    def _scrolled(self, value: int) -> None:
        if not self._placing:
            self._set_following(value >= self.verticalScrollBar().maximum() - BOTTOM_SLACK)
            self._remember(tops(self.items, self._column()[0]), value)
            self.place()

    def _acted(self, action: int) -> None:
        if action == QAbstractSlider.SliderAction.SliderToMaximum.value:
            self._set_following(True)

    def _set_following(self, following: bool) -> None:
        if following != self.following:
            self.following = following
            self.following_changed.emit(following)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """An item whose content changed is measured again."""
        if event.type() == QEvent.Type.LayoutRequest and not self._placing:
            item = next((item for item in self.items if item.widget is watched), None)
            if item is not None:
                item.width = 0
                self._soon.start()
                if not self._order.isActive():
                    self._order.start()
        return super().eventFilter(watched, event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Lay out for the new width."""
        super().resizeEvent(event)
        if self._painted:
            self.place()

    def showEvent(self, event: QEvent) -> None:
        """Place what was waiting to be visible; for the first time after the first picture, which should come soon."""
        super().showEvent(event)  # type: ignore[arg-type]
        if self._painted:
            self._place_some()

    def paintEvent(self, event: QPaintEvent) -> None:
        """There is a picture now."""
        super().paintEvent(event)
        if not self._painted:
            self._painted = True
            self._rest.start()

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Turning up stops following the end, at once."""
        if event.angleDelta().y() > 0 and self.verticalScrollBar().maximum() > 0:
            self._set_following(False)
        super().wheelEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Keys of this widget."""
        bar = self.verticalScrollBar()
        if event.key() == Qt.Key.Key_End:
            self.show_end()
        elif event.key() == Qt.Key.Key_Home:
            bar.triggerAction(QAbstractSlider.SliderAction.SliderToMinimum)
        else:
            super().keyPressEvent(event)
