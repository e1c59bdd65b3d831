"""The plots come late, and stand where they belong all the same."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app import beside
from app.plots import lazy
from app.plots.lazy import NAMES_SECONDS, LazyPlots
from app.selection import Selection
from tests.app.tab_order import tab_order

ROOT = Path(__file__).resolve().parents[3]


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


MADE = """
import sys
from importlib import import_module
from app.plots.qt_names import COPIED, make_names

stops = sum(1 for _ in make_names())
modules = [import_module(f"PySide6.{name}") for name in COPIED]
before = [set(vars(module)) for module in modules]
assert all(set(dir(module)) <= names for module, names in zip(modules, before, strict=True))
assert "pyqtgraph" not in sys.modules
import app.plots.panel
assert [set(vars(module)) - names for module, names in zip(modules, before, strict=True)] == [set()] * len(modules)
print(stops)
"""


def test_importing_pyqtgraph_makes_no_class_of_qt():
    """In another thread, while this one is in Qt, that ends the program."""
    env = os.environ | {"QT_QPA_PLATFORM": "offscreen"}
    run = subprocess.run([sys.executable, "-c", MADE], cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert int(run.stdout) > 500


def test_classes_are_made_before_the_other_thread_begins(qtbot, monkeypatch):
    """Some per turn of the event loop, so that the window goes on."""
    happened = []

    def names():
        for i in range(6):
            happened.append(i)
            time.sleep(NAMES_SECONDS)
            yield

    monkeypatch.setattr(lazy, "make_names", names)
    pool = SimpleNamespace(start=lambda _: happened.append("import"))
    monkeypatch.setattr(beside.QThreadPool, "globalInstance", lambda: pool)
    plots = LazyPlots(Selection())
    qtbot.addWidget(plots)
    turns = []
    plots._timer.timeout.connect(lambda: turns.append(len(happened)))
    plots.resize(600, 300)
    plots.show()
    qtbot.waitUntil(lambda: "import" in happened)
    assert happened == [*range(6), "import"]
    assert len(turns) > 3


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
