"""The picture a plot keeps: painted once, right at every moment, and shown while the plot waits."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QApplication

from app.plots.kept_plot import KeptPlot
from app.theme import theme
from engine import Turn
from tests.app.plots.plots_help import Paints, settle
from tests.fake_turn import fake_turn


@pytest.fixture
def painted(monkeypatch):
    """Counts from here on."""
    return Paints(monkeypatch)


@pytest.fixture
def chart(panel, selection, qtbot):
    """One chart of a running reply, drawn."""
    turn = fake_turn(1, rounds=12)
    selection.show_turn(Turn(turn.start, turn.prefill, turn.rounds[:6]))
    settle(panel, qtbot, 6)
    panel._throttle.set_interval(60_000)
    QApplication.processEvents()
    return panel.charts["acceptance"]


def right(plot: KeptPlot) -> bool:
    """Whether it shows what painting it would give."""
    shown = plot.viewport().grab().toImage()
    plot.outdate()
    return shown == plot.viewport().grab().toImage()


def test_a_redraw_paints_once_and_the_whole_window_not_again(chart, panel, painted):
    """Three charts were a third of every picture of the window, however little of them had changed."""
    painted.counts.clear()
    chart.refresh()
    panel.grab()
    panel.repaint()
    QApplication.processEvents()
    assert painted.counts[chart.plot] == 1


@pytest.mark.parametrize("change", ["mark", "hover", "zoom", "fit", "colours", "text size", "size", "rounds"])
def test_the_picture_is_never_an_old_one(chart, panel, selection, change):
    """A chart that shows what was true before would be a wrong chart."""
    chart.refresh()
    mode, size = theme().mode, theme().font_size
    if change == "mark":
        selection.go(2)
    elif change == "hover":
        selection.hover(3)
    elif change == "zoom":
        chart.view.setXRange(2, 5, padding=0)
    elif change == "fit":
        chart.view.setXRange(2, 5, padding=0)
        chart.refresh()
        chart.fit()
    elif change == "colours":
        theme().set_mode("dark" if mode != "dark" else "light")
    elif change == "text size":
        theme().set_font_size(size + 3)
    elif change == "size":
        panel.resize(panel.width() - 120, panel.height() - 40)
    else:
        selection.turn.rounds.extend(fake_turn(1, rounds=12).rounds[6:])
        chart.series.update(selection.turn)
        chart.refresh()
    for _ in range(3):
        QApplication.processEvents()
    while panel._covered:
        panel._uncover_next()
    QApplication.processEvents()
    assert right(chart.plot)
    theme().set_mode(mode)
    theme().set_font_size(size)


def test_a_plot_that_waits_is_neither_laid_out_nor_painted(chart, panel, painted):
    """Each step of a border that is dragged laid out three plots and painted them: 40 ms beside a running model."""
    chart.refresh()
    QApplication.processEvents()
    size = chart.view.size()
    painted.counts.clear()
    for step in range(1, 6):
        panel.resize(panel.width() - 10 * step, panel.height() - 5 * step)
        panel.grab()
    assert not painted.counts
    assert chart.view.size() == size
    while panel._covered:
        panel._uncover_next()
    assert chart.view.size() != size
    assert right(chart.plot)


def test_other_colours_show_no_old_picture(chart, panel):
    """A light chart must not stand in a dark window for the time that it waits."""
    chart.refresh()
    chart.cover(forget=True)
    image = chart.plot.viewport().grab().toImage()
    assert {image.pixelColor(x, y).name() for x in (3, 60, 120) for y in (3, 40, 80)} == {
        theme().color("surface").name()
    }


def test_a_chart_that_waits_is_saved_in_its_right_size(chart, panel, tmp_path):
    """The old layout in a picture of the new size would leave a gap, or be cut."""
    chart.refresh()
    panel.resize(panel.width() - 200, panel.height() - 60)
    panel.export("acceptance", tmp_path / "chart.png")()
    assert not chart.plot.held
    assert chart.view.width() < chart.width()


def test_a_plot_under_its_words_waits_too(chart, panel, selection, painted, qtbot):
    """In the first seconds of a reply nothing is drawn yet, and every step of a border laid out all plots."""
    selection.show_turn(Turn(fake_turn(2).start))
    QApplication.processEvents()
    size = chart.view.size()
    panel.resize(panel.width() - 60, panel.height() - 30)
    assert chart.view.size() == size
    while panel._covered:
        panel._uncover_next()
    assert chart.view.size() != size
    assert chart.empty.isVisible()


def test_the_line_of_plain_decoding_comes_into_the_picture(chart, panel):
    """It is measured while a reply may stand there, drawn and kept."""
    speed = panel.charts["speed"]
    speed.refresh()
    panel.set_plain(3.0)
    QApplication.processEvents()
    assert right(speed.plot)
