"""What charts over rounds share: the x axis, the marks that link it with the selection, the top of a scale."""

from __future__ import annotations

import math

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtWidgets import QWidget

from app.plots.chart import Chart
from app.plots.series import RoundSeries
from app.selection import Selection
from app.theme import theme
from engine import Turn


def most(values: NDArray[np.float64]) -> float:
    """Top of the scale: a single odd round must not flatten the rest, so the highest 2 % may be cut."""
    if not len(values):
        return 1.0
    index = min(len(values) - 1, int(0.98 * len(values)))
    return 1.15 * float(np.partition(values, index)[index])


class RoundChart(Chart):
    """A chart whose x axis counts rounds from 1; linked with the selection."""

    bottom = "round"

    def __init__(self, series: RoundSeries, selection: Selection, parent: QWidget | None = None) -> None:
        self.selection = selection
        self._drawn: Turn | None = None
        super().__init__(series, parent)
        selection.round_changed.connect(self._moved_on)
        selection.hover_changed.connect(self._mark)

    def _build(self) -> None:
        super()._build()
        self.current = pg.LinearRegionItem(movable=False)
        self.hover_mark = pg.LinearRegionItem(movable=False)
        for mark in (self.current, self.hover_mark):
            mark.setZValue(-20)
            mark.hide()
            self.item.addItem(mark, ignoreBounds=True)

    def restyle(self) -> None:
        """Marks follow the theme as well."""
        color = theme().color("highlight")
        self.current.setBrush(color)
        for mark, role in ((self.current, "accent"), (self.hover_mark, "muted")):
            for line in mark.lines:  # of 200 rounds in a small chart, one is a pixel wide
                line.setPen(pg.mkPen(theme().color(role), width=1))
        color.setAlpha(110)
        self.hover_mark.setBrush(color)
        super().restyle()

    def refresh(self) -> None:
        """Mark and draw."""
        self._drawn = self.series.turn
        self._mark()
        super().refresh()

    def index_at(self, x: float) -> int:
        """Round under a place; -1 outside."""
        index = math.floor(x + 0.5) - 1
        return index if 0 <= index < self.series.count else -1

    def clicked(self, x: float) -> None:
        """Show that round everywhere."""
        index = self.index_at(x)
        if index >= 0:
            self.selection.go(index)

    def hovered(self, x: float | None) -> None:
        """Light that round up everywhere."""
        self.selection.hover(-1 if x is None else self.index_at(x))

    def x_range(self) -> tuple[float, float]:
        """All rounds, in strides, and at least a few so that the first ones are not bars as wide as the chart."""
        stride = max(16, 2 ** (self.series.count.bit_length() - 3)) if self._growing() else 1
        return 0.5, max(-(-self.series.count // stride) * stride, 16) + 0.5

    def _growing(self) -> bool:
        turn = self.selection.turn
        return turn is not None and turn.end is None

    def edges(self) -> NDArray[np.float64]:
        """Limits of the steps, [n + 1]."""
        return np.arange(self.series.count + 1) + 0.5

    def centers(self) -> NDArray[np.float64]:
        """Middle of each round, [n]."""
        return np.arange(self.series.count) + 1.0

    @property
    def outdated(self) -> bool:
        """Whether another turn is shown than was drawn: a redraw is on its way, and brings all."""
        return self._drawn is not self.selection.turn

    def _moved_on(self) -> None:
        if not self.outdated and not (self.selection.live and self._growing()):  # the next redraw moves the mark too
            self._mark()

    def _mark(self, *_: object) -> None:
        for mark, index in ((self.current, self.selection.round_index), (self.hover_mark, self.selection.hovered[0])):
            shown = 0 <= index < self.series.count
            mark.setVisible(shown)
            if shown:
                mark.setRegion((index + 0.5, index + 1.5))
        self.plot.outdate()
