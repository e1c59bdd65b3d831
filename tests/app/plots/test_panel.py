"""The charts side by side: linked, quick, each shown or not, and honest about what is missing."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from PySide6.QtCore import QPointF, Qt
from PySide6.QtWidgets import QApplication, QToolButton

from app.plots.panel import AT_FIRST, STAGGER_MS
from engine import Turn
from tests.app.plots.plots_help import NAMES, Paints, place, settle
from tests.fake_engine import long_turn
from tests.fake_turn import fake_turn


def test_empty_says_what_to_do(panel):
    """Bare axes look broken."""
    for chart in panel.charts.values():
        assert not chart.empty.isHidden()
        assert "Send a message" in chart.empty.text()


def test_rounds_appear_and_grow(panel, selection, qtbot):
    """Live: each round adds a bar."""
    turn = fake_turn(1, rounds=6)
    growing = Turn(start=turn.start, prefill=turn.prefill, rounds=turn.rounds[:3])
    selection.show_turn(growing)
    settle(panel, qtbot, 3)
    growing.rounds += turn.rounds[3:]
    selection.refresh()
    settle(panel, qtbot, 6)
    xs, ys = panel.charts["acceptance"].bars.getOriginalDataset()
    assert list(ys) == [len(r.emitted) for r in turn.rounds]
    assert list(xs) == [0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5]


def test_a_reply_that_begins_covers_the_last_one_and_is_drawn_when_it_ends(panel, selection, qtbot, monkeypatch):
    """Charts of another reply must not stay, and drawing them must not hold up the first rounds."""
    selection.show_turn(fake_turn(1, rounds=6))
    settle(panel, qtbot, 6)
    turn = fake_turn(2, rounds=4)
    growing = Turn(start=turn.start)
    drawn = []
    for name, chart in panel.charts.items():
        monkeypatch.setattr(chart, "draw", lambda name=name: drawn.append(name))
    panel._throttle.set_interval(60_000)
    selection.show_turn(growing)
    growing.rounds += turn.rounds
    selection.refresh()
    assert drawn == []
    for chart in panel.charts.values():
        assert not chart.empty.isHidden()
        assert "on their way" in chart.empty.text()
    panel.flush()
    settle(panel, qtbot, 4)
    assert drawn == NAMES
    assert all(chart.empty.isHidden() for chart in panel.charts.values())


def test_click_and_hover_are_linked(panel, selection, qtbot):
    """A point selects its round everywhere, and the round selected elsewhere is marked here."""
    selection.show_turn(fake_turn(1, rounds=20))
    settle(panel, qtbot, 20)
    chart = panel.charts["speed"]
    chart._mouse_moved(place(chart, 7.3, 1.0))
    assert selection.hovered == (6, -1)
    assert "round 7" in chart.value.text()
    chart.clicked(7.3)
    assert (selection.round_index, selection.live) == (6, False)
    selection.go(11)
    for name in ("acceptance", "speed", "time"):
        assert panel.charts[name].current.getRegion() == (11.5, 12.5)
    chart._mouse_moved(QPointF(-50, -50))
    assert selection.hovered == (-1, -1)
    assert chart.value.text() == ""


def test_real_click_goes_to_the_round(panel, selection, qtbot):
    """The event path of pyqtgraph, not only our method."""
    selection.show_turn(fake_turn(1, rounds=20))
    settle(panel, qtbot, 20)
    chart = panel.charts["acceptance"]
    qtbot.mouseClick(
        chart.plot.viewport(), Qt.MouseButton.LeftButton, pos=chart.plot.mapFromScene(place(chart, 4, 0.5))
    )
    qtbot.waitUntil(lambda: selection.round_index == 3)


def test_plain_line_is_shown_or_its_absence_explained(panel, selection, qtbot):
    """An estimated line would be a lie; a missing one needs a reason."""
    selection.show_turn(fake_turn(1))
    settle(panel, qtbot, 20)
    speed = panel.charts["speed"]
    assert speed.plain.isVisible() is False
    panel.set_plain(8.0)
    assert speed.plain.isVisible()
    assert speed.plain.value() == pytest.approx(125)
    assert "× plain" in speed.value_at(3)
    panel.set_plain(None, "no model is loaded")
    assert not speed.plain.isVisible()
    assert "no model is loaded" in speed.plot.toolTip()


def test_redraws_are_limited(panel, selection, qtbot):
    """Streaming 75 rounds a second must not redraw 75 times a second."""
    turn = long_turn(fake_turn(1), 60)
    growing = Turn(start=turn.start, prefill=turn.prefill)
    drawn = []
    panel.charts["speed"].draw = lambda: drawn.append(1)
    selection.show_turn(growing)
    began = time.perf_counter()
    for shown in turn.rounds:
        growing.add(shown)
        selection.refresh()
        qtbot.wait(5)
    settle(panel, qtbot, 60)
    assert len(drawn) <= (time.perf_counter() - began) * 10 + 2


def test_charts_are_redrawn_one_after_the_other(panel, selection, qtbot):
    """Painted in one go they would hold up typing and scrolling."""
    turn = fake_turn(1, rounds=6)
    growing = Turn(start=turn.start, prefill=turn.prefill, rounds=turn.rounds[:3])
    selection.show_turn(growing)
    settle(panel, qtbot, 3)
    drawn = []
    for name in AT_FIRST:
        panel.charts[name].draw = lambda name=name: drawn.append((name, time.perf_counter()))
    growing.rounds += turn.rounds[3:]
    selection.refresh()
    settle(panel, qtbot, 6)
    times = [when for _, when in drawn]
    assert [name for name, _ in drawn] == list(AT_FIRST)
    assert min(b - a for a, b in pairwise(times)) > 0.9 * STAGGER_MS / 1000


@pytest.mark.alone
def test_long_turn_redraws_quickly(panel, selection, qtbot):
    """500 rounds, all five charts, well under a frame of ten a second."""
    selection.show_turn(long_turn(fake_turn(1), 500))
    settle(panel, qtbot, 500)
    times = []
    for _ in range(5):
        began = time.thread_time()
        for chart in panel.charts.values():
            chart.refresh()
        panel.repaint()
        times.append(time.thread_time() - began)
    assert sorted(times)[0] < 0.05


def test_choice_of_charts(panel, qtbot):
    """What is hidden takes no room; nothing shown is not possible at the start."""
    with qtbot.waitSignal(panel.shown_changed):
        qtbot.mouseClick(panel.header.buttons["rank"], Qt.MouseButton.LeftButton)
    assert panel.shown == ["acceptance", "speed", "time", "depth"]
    panel.set_shown(["nonsense"])
    assert panel.shown == list(AT_FIRST)


def test_names_for_screen_readers(panel, selection, qtbot):
    """A plot is a picture: it needs words."""
    selection.show_turn(fake_turn(1))
    settle(panel, qtbot, 20)
    for chart in panel.charts.values():
        assert chart.plot.accessibleName()
        assert any(c.isdigit() for c in chart.plot.accessibleDescription())
    assert all(b.text() for b in panel.findChildren(QToolButton))


def test_a_scroll_bar_that_was_needed_once_goes_again(panel, selection, qtbot):
    """Three charts stood in a row, then two and a scroll bar for good, after the window had been lower for a moment."""
    selection.show_turn(fake_turn(1))
    settle(panel, qtbot, 20)
    panel.set_shown(AT_FIRST)
    panel.resize(597, 147)
    qtbot.waitUntil(lambda: panel._grid.columns == 3)
    panel.resize(597, 60)
    qtbot.wait(20)
    panel.resize(597, 147)
    qtbot.wait(20)
    assert panel._grid.columns == 3


def test_charts_of_another_size_are_drawn_one_by_one_while_a_reply_streams(panel, selection, qtbot):
    """The window and all its charts anew in one go held it for up to 90 ms."""
    turn = fake_turn(1, rounds=12)
    running = Turn(turn.start, turn.prefill, turn.rounds[:6])
    selection.show_turn(running)
    settle(panel, qtbot, 6)
    shown = [panel.charts[name] for name in panel.shown]
    panel.resize(panel.width() - 90, panel.height() - 30)
    waiting = [sum(chart.plot.held for chart in shown)]
    while waiting[-1]:
        panel._reveal.due.emit()
        waiting.append(sum(chart.plot.held for chart in shown))
    assert waiting == list(range(len(shown), -1, -1))
    panel._reveal.stop()


def test_charts_without_a_picture_wait_only_for_a_reply_that_streams(panel, selection, qtbot):
    """With nothing to show meanwhile a chart would be blank for a moment, for no reason."""
    for chart in panel.charts.values():
        chart.plot.hold(forget=True)
        chart.plot.release()
        assert not chart.plot.kept
    panel.resize(panel.width() - 90, panel.height() - 30)
    assert not any(panel.charts[name].plot.held for name in panel.shown)


def test_the_charts_of_another_reply_do_not_wait(panel, selection, qtbot):
    """On a slow machine two redraws are up to six seconds apart: so long the charts of the last reply stood there."""
    panel._throttle.set_interval(6000)
    selection.show_turn(fake_turn(1, rounds=6))
    settle(panel, qtbot, 6)
    panel._throttle.set_interval(6000)
    selection.show_turn(fake_turn(2, rounds=9))
    qtbot.waitUntil(lambda: panel.series.count == 9 and not panel.redrawing, timeout=2000)


def test_another_turn_touches_each_chart_once_in_its_redraw(panel, selection, qtbot, monkeypatch):
    """Marks moved and the plain line drawn at once made pictures of the old charts beside the tree's, 12 ms."""
    panel.set_shown(AT_FIRST)
    panel.set_plain(8.0)
    selection.show_turn(fake_turn(1, rounds=6), live=False)
    settle(panel, qtbot, 6)
    drawn: list[str] = []
    for name in panel.shown:
        chart = panel.charts[name]
        draw, move = chart.draw, chart.current.setRegion
        monkeypatch.setattr(chart, "draw", lambda name=name, draw=draw: drawn.append(name) or draw())
        monkeypatch.setattr(chart.current, "setRegion", lambda x, name=name, move=move: drawn.append(name) or move(x))
    selection.show_turn(fake_turn(2, rounds=9), live=False)
    panel.set_plain(None, "this run was not made here and now")
    assert drawn == []
    settle(panel, qtbot, 9)
    assert drawn == [name for name in panel.shown for _ in ("mark", "draw")]
    assert panel.charts["speed"].plain.isVisible() is False
    selection.go(4)
    assert drawn[6:] == list(panel.shown)


def test_a_redraw_makes_one_picture(panel, selection, qtbot, monkeypatch):
    """Axes that found out while painting that they want another width made three, of 8 ms each, of a growing turn."""
    panel.set_shown(AT_FIRST)
    turn = long_turn(fake_turn(1, rounds=6), 300)
    growing = Turn(start=turn.start, prefill=turn.prefill)
    selection.show_turn(growing)
    QApplication.processEvents()
    qtbot.waitUntil(lambda: not panel._covered)
    qtbot.wait(50)
    painted = Paints(monkeypatch)
    for rounds in (3, 30, 120, 300):
        painted.counts.clear()
        growing.rounds[:] = turn.rounds[:rounds]
        selection.refresh()
        panel.flush()
        settle(panel, qtbot, rounds)
        qtbot.wait(80)
        assert painted.counts == {panel.charts[name].plot: 1 for name in panel.shown}, rounds
