"""The charts' tests: all charts by name, waiting for a redraw, places and words in a chart."""

from __future__ import annotations

from collections import Counter

import pyqtgraph as pg
from PySide6.QtCore import QPointF
from PySide6.QtGui import QTextDocument

NAMES = ["acceptance", "speed", "time", "depth", "rank"]


class Paints:
    """Counts how often each plot is really painted, by plot, from here on."""

    def __init__(self, monkeypatch):
        self.counts: Counter[pg.PlotWidget] = Counter()

        def paint(plot, event):
            self.counts[plot] += 1
            return pg.GraphicsView.paintEvent(plot, event)

        monkeypatch.setattr(pg.PlotWidget, "paintEvent", paint, raising=False)


def settle(panel, qtbot, count):
    """Wait for the throttled redraw."""
    qtbot.waitUntil(lambda: panel.series.count == count and not panel.redrawing, timeout=20_000)  # of seconds, if slow


def place(chart, x, y):
    """Scene position of a value."""
    return chart.view.mapViewToScene(QPointF(x, y))


def words(chart):
    """The title line as it is read, with plain spaces."""
    text = QTextDocument()
    text.setHtml(chart.name.text())
    return " ".join(text.toPlainText().split())
