"""What a chart looks like: colours, axes, room, zoom, the words of its parts."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pyqtgraph import TextItem

from app.plots.chart import RIGHT
from app.plots.panel import AT_FIRST
from app.theme import FONT_SIZE_DEFAULT, theme
from engine import Turn
from tests.app.plots.plots_help import settle, words
from tests.fake_engine import long_turn
from tests.fake_turn import fake_turn


def test_stack_ends_at_the_total(panel, selection, qtbot):
    """The top of the stack is the time of the round."""
    turn = fake_turn(1, rounds=6)
    selection.show_turn(turn)
    settle(panel, qtbot, 6)
    _, tops = panel.charts["time"].parts["host"].getOriginalDataset()
    assert list(tops) == pytest.approx([r.timings.total for r in turn.rounds])


def test_theme_reaches_the_plots(panel, selection, qtbot):
    """pyqtgraph ignores the palette."""
    selection.show_turn(fake_turn(1))
    settle(panel, qtbot, 20)
    for mode in ("dark", "light"):
        theme().set_mode(mode)
        for chart in panel.charts.values():
            assert chart.plot.backgroundBrush().color() == theme().color("surface")
            assert chart.item.getAxis("left").textPen().color() == theme().color("muted")


def test_axes_have_units(panel):
    """A number without a unit is a riddle."""
    assert {n: (words(c), c.item.getAxis("bottom").labelText) for n, c in panel.charts.items()} == {
        "acceptance": ("Acceptance length tokens", "round"),
        "speed": ("Tokens per second", "round"),
        "time": ("Time per round ms ■ draft ■ verify ■ commit ■ host", "round"),
        "depth": ("Accepted by depth % of reached", "depth in the tree"),
        "rank": ("Accepted by rank % of accepted", "rank among siblings"),
    }


@pytest.mark.parametrize("points", [FONT_SIZE_DEFAULT, 1.25 * FONT_SIZE_DEFAULT])
def test_nothing_is_cut_where_there_is_little_room(panel, selection, qtbot, points):
    """At 1280 x 800 the plots are small: titles wrap, the last round has a margin, no text lies on the bars."""
    theme().set_font_size(points)
    panel.set_shown(AT_FIRST)
    panel.resize(625, 140)
    selection.show_turn(fake_turn(1, rounds=50))
    panel.set_plain(9.0)
    settle(panel, qtbot, 50)
    panel.repaint()
    assert words(panel.charts["speed"]).endswith("plain 111")
    assert len({panel.charts[name].y() for name in AT_FIRST}) == 1, "in one row"
    for name in AT_FIRST:
        chart = panel.charts[name]
        qtbot.waitUntil(lambda name=chart.name: name.height() >= name.heightForWidth(name.width()))
        assert chart.view.sceneBoundingRect().right() <= chart.plot.width() - RIGHT, name
        assert chart.view.height() >= 30, name
        assert not [item for item in chart.view.allChildren() if isinstance(item, TextItem)], name


@pytest.mark.parametrize("most", [1, 4, 7, 17, 65])
def test_numbers_of_the_axis_are_whole_and_few(panel, selection, qtbot, most):
    """A copied draft gives 17 tokens in a round; numbers at every second one would lie on each other."""
    turn = fake_turn(1, rounds=6)
    turn.rounds[3] = replace(turn.rounds[3], emitted=turn.rounds[3].emitted[:1] * most)
    selection.show_turn(turn)
    settle(panel, qtbot, 6)
    axis, top = panel.charts["acceptance"].item.getAxis("left"), panel.charts["acceptance"].view.viewRange()[1][1]
    levels = [values for spacing, values in axis.tickValues(0, top, 45)]
    numbers = {float(v) for values in levels for v in values}
    assert 3 <= len(numbers) <= 7
    assert all(v.is_integer() for v in numbers)


def test_zoom_is_kept_until_fit(panel, selection, qtbot):
    """New rounds must not throw away where the user is looking."""
    turn = long_turn(fake_turn(1), 60)
    selection.show_turn(turn)
    settle(panel, qtbot, 60)
    chart = panel.charts["time"]
    chart.view.setXRange(10, 20, padding=0)
    chart._user_moved()
    chart.refresh()
    assert chart.view.viewRange()[0] == pytest.approx([10, 20])
    assert not chart.fit_button.isHidden()
    chart.fit()
    assert chart.view.viewRange()[0] == pytest.approx([0.5, 60.5])


def test_copied_tokens_have_their_own_part_of_the_bar(panel, selection, qtbot):
    """A copy of earlier text is no merit of the draft head: chart, hover and CSV tell it apart; nothing else does."""
    turn = fake_turn(2, rounds=6, topk=1, depth=16, length=16, accept=1.0)
    chart = panel.charts["acceptance"]
    selection.show_turn(turn)
    settle(panel, qtbot, 6)
    assert "copied" not in chart.name.text()
    rounds = [replace(r, drafted_by="copy") if r.index == 4 else r for r in turn.rounds]
    selection.show_turn(Turn(turn.start, turn.prefill, rounds))
    qtbot.waitUntil(lambda: "copied" in chart.name.text())
    assert list(chart.copied.getOriginalDataset()[1]) == [0, 0, 0, 0, turn.rounds[4].accepted_emitted, 0]
    assert chart.value_at(5).splitlines()[1] == "17 tokens, 16 copied"
    assert [row[2] for row in chart.rows()] == [0, 0, 0, 0, 16, 0]
