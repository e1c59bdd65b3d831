"""The plots come late, and stand where they belong all the same."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QVBoxLayout, QWidget

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
