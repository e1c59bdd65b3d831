"""The places in a long column, without drawing: where each stands, who is near the view, whose widget may go.

An item's height is an estimate until its widget has been measured at the present width.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Protocol, runtime_checkable

from PySide6.QtWidgets import QWidget

from app.theme import GAP, GAP_LARGE

MOST_ALIVE = 40  # widgets kept; those farthest from the view go first


@runtime_checkable
class Chained(Protocol):
    """A widget that says in which order Tab goes through it."""

    def focus_chain(self) -> list[QWidget]:
        """Itself and what is in it."""


class Item:
    """A place in the column.

    Attributes:
        make: builds the widget as child of the given parent.
        estimate: height for a width, without the widget.
        keep: the widget must stay (it is running, or being edited).
    """

    def __init__(self, key: int, make: Callable[[QWidget], QWidget], estimate: Callable[[int], int]) -> None:
        self.key = key
        self.make = make
        self.estimate = estimate
        self.keep = False
        self.widget: QWidget | None = None
        self.height = 0
        self.width = 0  # at which `height` was measured; 0: never
        self.guessed = 0  # width for which `height` was estimated last

    def take_over(self, known: Item) -> None:
        """Go on with the widget and the height of an item of the same key."""
        self.widget, self.height, self.width = known.widget, known.height, known.width
        self.keep, self.guessed = known.keep, known.guessed


def tops(items: Sequence[Item], width: int) -> list[int]:
    """Top of every item, and the end of the column; heights that are not known at this width are estimated."""
    heights = []
    for item in items:
        unknown = item.widget is None and width not in (item.width, item.guessed)
        if item.height == 0 or unknown:
            item.height, item.guessed = item.estimate(width), width
        heights.append(item.height + GAP)
    return list(accumulate(heights, initial=GAP_LARGE))


def near(tops: Sequence[int], top: int, view: int, ahead: int) -> tuple[int, int]:
    """First and one after the last item in a view of that top and height, and `ahead` pixels around it."""
    first = max(0, bisect_right(tops, top - ahead) - 1)
    last = min(len(tops) - 1, bisect_right(tops, top + view + ahead))
    return first, last


def surplus(items: Sequence[Item], first: int, last: int, focus: QWidget | None) -> list[Item]:
    """Items whose widgets are too many: farthest from the view first, none in it, kept or with the focus."""
    alive = [n for n, item in enumerate(items) if item.widget is not None]
    middle = (first + last) // 2
    far = sorted(alive, key=lambda n: -abs(n - middle))[: max(0, len(alive) - MOST_ALIVE)]

    def may_go(number: int) -> bool:
        item = items[number]
        focused = focus is not None and item.widget is not None and item.widget.isAncestorOf(focus)
        return not (item.keep or first <= number < last or focused)

    return [items[number] for number in far if may_go(number)]


def order_tabs(before: QWidget, items: Sequence[Item]) -> None:
    """Tab goes from `before` through the visible widgets from top to bottom, whatever the order they were made in."""
    for item in items:
        if item.widget is not None and item.widget.isVisible():
            chain = item.widget.focus_chain() if isinstance(item.widget, Chained) else [item.widget]
            for widget in chain:
                QWidget.setTabOrder(before, widget)
                before = widget
