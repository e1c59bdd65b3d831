"""Keeps pyqtgraph from painting a redraw twice. What it and Qt find out while painting, they paint again for: another
width of an axis, another bounding rectangle. Here it is found out before. Knows plots, no numbers.
"""

from __future__ import annotations

import math

import pyqtgraph as pg
from PySide6.QtCore import QCoreApplication, QEvent
from PySide6.QtGui import QFont, QFontMetrics

FEWEST_DIGITS = 3  # room at the left axis, so that the plot keeps its place while numbers grow


class AxisRoom:
    """How much room the numbers at both axes have; left to itself an axis takes what it needs while it is painted."""

    def __init__(self, item: pg.PlotItem) -> None:
        self._axes = item.getAxis("left"), item.getAxis("bottom")
        self._given = (0, 0)
        for axis in self._axes:
            axis.setStyle(autoExpandTextSpace=False)

    def fit(self, top: float, font: QFont) -> None:
        """For numbers from 0 to `top` at the left axis."""
        letters = QFontMetrics(font)
        digits = max(FEWEST_DIGITS, len(f"{math.floor(top)}"))
        wanted = letters.horizontalAdvance("0" * digits), letters.height()
        if wanted != self._given:
            self._given = wanted
            self._axes[0].setStyle(tickTextWidth=wanted[0])
            self._axes[1].setStyle(tickTextHeight=wanted[1])


def settle(item: pg.PlotItem) -> None:
    """Lay out, measure, and tell the view what is to be painted."""
    item.layout.activate()
    item.scene().prepareForPaint()
    for part in item.getViewBox().allChildren():
        if part.isVisible():
            part.boundingRect()
    QCoreApplication.sendPostedEvents(item.scene(), QEvent.Type.MetaCall.value)
