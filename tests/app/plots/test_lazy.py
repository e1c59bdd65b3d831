"""The plots come late, and stand where they belong all the same."""

from __future__ import annotations

import threading
from types import SimpleNamespace

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app import beside
from app.plots.lazy import LazyPlots
from app.selection import Selection
from tests.app.tab_order import tab_order


def test_tab_passes_through_the_plots_where_they_stand(qtbot):
    """They are made after everything else, and would come last."""
    window = QWidget()
    qtbot.addWidget(window)
    first, plots, last = QWidget(), LazyPlots(Selection(window)), QWidget()
    box = QVBoxLayout(window)
    for widget in (first, plots, last):
        box.addWidget(widget)
    for widget in (first, last):
        widget.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    window.resize(900, 400)
    window.show()
    panel = plots.panel()
    qtbot.waitUntil(panel.isVisible)
    order = tab_order(first)
    assert order[-1] is last
    assert all(panel.isAncestorOf(w) for w in order[:-1])
    assert len(order) > 6
    assert all(w.accessibleName() or w.text() for w in order[:-1])


def test_the_charts_come_by_themselves_one_by_one(qtbot, monkeypatch):
    """Loading pyqtgraph and making all charts held the window for 0.3 s, in the first reply of who sends at once."""
    loads = []
    monkeypatch.setattr(beside.QThreadPool, "globalInstance", lambda: SimpleNamespace(start=loads.append))
    plots = LazyPlots(Selection())
    qtbot.addWidget(plots)
    made = []
    plots._next.timeout.connect(lambda: made.append(plots._charts and len(plots._charts.charts)))
    plots.resize(600, 300)
    plots.show()
    qtbot.waitUntil(lambda: len(loads) == 1)
    qtbot.wait(30)
    assert plots._charts is None
    loader = threading.Thread(target=loads[0])
    loader.start()
    qtbot.waitUntil(lambda: plots._panel is not None)
    loader.join()
    assert made == [2, 3, 4, 5, None]
    qtbot.waitUntil(plots.panel().isVisible)
    assert len(loads) == 1


def test_charts_made_so_far_go_with_the_window(qtbot):
    """Closed between two charts: one that belonged to nobody stayed behind, and took the program down when it went."""
    plots = LazyPlots(Selection())
    qtbot.addWidget(plots)
    plots._next.setInterval(60_000)
    plots.resize(600, 300)
    plots.show()
    qtbot.waitUntil(lambda: plots._charts is not None and len(plots._charts.charts) == 1, timeout=15_000)
    assert all(chart.window() is plots for chart in plots._charts.charts.values())
    plots._next.stop()
