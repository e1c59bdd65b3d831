"""Scrolls a long column of widgets of which only those near the view exist. Knows nothing about messages.

The item at the top of the view stays where it is while heights above it become exact; or the bottom, while the tail is
followed. Others are made a few per turn of the event loop, from that end, so that none moves when the next ones come.
"""

from __future__ import annotations

import math
import time
from bisect import bisect_right

from PySide6.QtCore import QEvent, QPoint, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent, QPaintEvent, QResizeEvent, QWheelEvent
from PySide6.QtWidgets import QAbstractSlider, QFrame, QScrollArea, QWidget

from app.chat.column import Column
from app.chat.flow_items import Item, near, order_tabs, tops
from app.one_by_one import TURN_SECONDS
from app.own_turn import OwnTurn
from app.theme import GAP, GAP_LARGE

BOTTOM_SLACK, LINE = 4, 40  # pixels from the end that still count as the end; that must be seen of a place
READING_WIDTH = 860  # pixels; longer lines are hard to read
NEAR = 0.8  # of the view's height, made ahead above and below, one widget at a time
AHEAD_MS = 5
ORDER_MS = 1000


class Flow(QScrollArea):
    """The view of a column.

    Signals:
        following_changed: whether the end is followed.

    Attributes:
        column: the items and their widgets.
    """

    following_changed = Signal(bool)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.column = Column(self)
        self.setWidget(self.column.canvas)
        self.following = True
        self._placing = self._painted = False
        self._anchor: tuple[int, int] = (0, 0)  # item and pixels of it above the view
        self._soon, self._rest, self._ahead = OwnTurn(self, 0), OwnTurn(self, 0), OwnTurn(self, AHEAD_MS)
        self._soon.due.connect(self._place_some)
        self._rest.due.connect(self._place_some)
        self._ahead.due.connect(self._make_ahead)
        self._order = QTimer(self, interval=ORDER_MS, singleShot=True)
        self._order.timeout.connect(lambda: order_tabs(self, self.column.items))
        self.column.made.connect(lambda *_: self._order.start())
        self.column.changed.connect(self._content_changed)
        self.verticalScrollBar().valueChanged.connect(self._scrolled)
        self.verticalScrollBar().actionTriggered.connect(self._acted)

    def set_items(self, items: list[Item], at_end: bool = True, at: int = 0) -> None:
        """Replace everything, and go to the end, or to the item `at`; keys that were there keep their widgets."""
        self.column.set_items(items)
        if self.column.number_of(at) is not None:
            self.show_item(at, -GAP if self.column.number_of(at) else -GAP_LARGE)
        else:
            self._set_following(at_end or self.following)
            self._place_some()

    def widget_of(self, key: int) -> QWidget | None:
        """The widget of an item, if it exists now."""
        return self.column.widget_of(key)

    def widgets(self) -> list[QWidget]:
        """The widgets that exist, from top to bottom."""
        return self.column.widgets()

    def grown(self, key: int) -> None:
        """The content of an item was changed: place it now, so that it is drawn once, where it belongs."""
        if self.column.number_of(key) is not None:
            self.column.unmeasure(key)
            self._place_some()

    def show_item(self, key: int, offset: int = 0) -> None:
        """Bring an item to the top of the view, `offset` pixels of it above."""
        number = self.column.number_of(key)
        if number is not None:
            self._set_following(False)
            self._anchor = (number, offset)
            self._place_some()

    def bring_into_view(self, key: int, y: int) -> None:
        """Scroll so that a place in an item, `y` pixels below its top, can be seen; nothing moves when it can."""
        widget, height = self.widget_of(key), self.viewport().height()
        if widget is not None and not 0 <= widget.mapTo(self.viewport(), QPoint(0, y)).y() <= height - LINE:
            self.show_item(key, y - height // 3)

    def show_end(self) -> None:
        """Go to the end and follow it."""
        self._set_following(True)
        self._place_some()

    def drop_unseen(self) -> None:
        """Forget the widgets that are out of view and need not stay: before something dear is done to all."""
        view = self.viewport().rect().translated(0, self.verticalScrollBar().value())
        self.column.drop_unseen(view, self.focusWidget())

    def remeasure(self) -> None:
        """All heights may be wrong (font, theme)."""
        self.column.unmeasure_all()
        self._place_some()

    def place(self) -> None:
        """Make, measure and place everything in view."""
        self._place_within(math.inf)

    def _place_some(self) -> None:
        """As much of it as one turn of the event loop can do; the rest follows."""
        self._place_within(TURN_SECONDS)

    def _place_within(self, seconds: float) -> None:
        if not self._placing and self.isVisible():
            self._placing = True
            self._rest.stop()
            try:
                self._place(seconds)
            finally:
                self._placing = False

    def _place(self, seconds: float) -> None:
        width, left = self._room()
        view = self.viewport().height()
        items = self.column.items
        places, top, first, last, until = [0], 0, 0, 0, 0.0
        for _ in range(8):
            places = tops(items, width)
            top = self._wanted_top(places, view)
            first, last = near(places, top, view, 0)
            until = until or time.perf_counter() + seconds
            if not self.column.measure(self._in_order(first, last), width, until):
                break
        missing = any(item.width != width for item in items[first:last])
        first, last = near(places, top, view, int(view * NEAR))
        if missing:
            self._rest.start()
        elif any(item.width != width for item in items[first:last]):
            self._ahead.start()
        self.column.canvas.resize(self.viewport().width(), max(places[-1], 1))
        self.column.arrange(places, first, last, left, width)
        self.column.thin_out(first, last, self.focusWidget())
        bar = self.verticalScrollBar()
        bar.setSingleStep(40)
        bar.setValue(top)
        self._remember(places, bar.value())

    def _in_order(self, first: int, last: int) -> list[int]:
        """What is in view, beginning at what holds still: the end, or the item that stands at the top."""
        if self.following:
            return list(range(last - 1, first - 1, -1))
        return sorted(range(first, last), key=lambda number: (number < self._anchor[0], number))

    def _room(self) -> tuple[int, int]:
        room = self.viewport().width() - 2 * GAP
        width = max(120, min(room, READING_WIDTH))
        return width, max(GAP, (self.viewport().width() - width) // 2)

    def _wanted_top(self, places: list[int], view: int) -> int:
        end = max(0, places[-1] - view)
        if self.following:
            return end
        index, offset = self._anchor
        index = min(index, len(self.column.items) - 1)
        return max(0, min(end, places[index] + offset)) if index >= 0 else 0

    def _make_ahead(self) -> None:
        """Make one widget that is not in view yet, so that scrolling finds it ready."""
        if self._placing or not self.isVisible():
            return
        width, view = self._room()[0], self.viewport().height()
        first, last = near(tops(self.column.items, width), self.verticalScrollBar().value(), view, int(view * NEAR))
        wanted = [n for n in range(first, last) if self.column.items[n].width != width]
        if wanted:
            self.column.measure(wanted[-1:], width)
            self._place_some()

    def _remember(self, places: list[int], top: int) -> None:
        index = max(0, min(len(self.column.items) - 1, bisect_right(places, top) - 1)) if self.column.items else 0
        self._anchor = (index, top - places[index])

    def _scrolled(self, value: int) -> None:
        if not self._placing:
            self._set_following(value >= self.verticalScrollBar().maximum() - BOTTOM_SLACK)
            self._remember(tops(self.column.items, self._room()[0]), value)
            self._place_some()

    def _acted(self, action: int) -> None:
        if action == QAbstractSlider.SliderAction.SliderToMaximum.value:
            self._set_following(True)

    def _set_following(self, following: bool) -> None:
        if following != self.following:
            self.following = following
            self.following_changed.emit(following)

    def _content_changed(self, key: int) -> None:
        """An item whose content changed is measured again."""
        if not self._placing:
            self.column.unmeasure(key)
            self._soon.start()
            if not self._order.isActive():
                self._order.start()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Lay out for the new width."""
        super().resizeEvent(event)
        if self._painted:
            self._place_some() if event.size().width() == event.oldSize().width() else self.place()

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
