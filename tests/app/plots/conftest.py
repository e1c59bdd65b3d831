from __future__ import annotations

import pytest

from app.plots.panel import PlotPanel
from app.selection import Selection
from tests.app.plots.plots_help import NAMES


@pytest.fixture
def selection(qapp):
    """Nothing shown yet."""
    return Selection()


@pytest.fixture
def panel(selection, qtbot):
    """All charts, on the screen."""
    panel = PlotPanel(selection)
    qtbot.addWidget(panel)
    panel.set_shown(NAMES)
    panel.resize(900, 600)
    with qtbot.waitExposed(panel):
        panel.show()
    return panel
