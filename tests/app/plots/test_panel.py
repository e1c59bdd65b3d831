"""The charts as the user meets them: linked, exported, readable, quick, and honest about what is missing."""

from __future__ import annotations

import csv
import io
import time
from dataclasses import replace
from itertools import pairwise

import pytest
from pyqtgraph import TextItem
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QImage, QTextDocument
from PySide6.QtWidgets import QToolButton

from app.plots.chart import RIGHT
from app.plots.panel import AT_FIRST, STAGGER_MS, PlotPanel
from app.selection import Selection
from app.theme import FONT_SIZE_DEFAULT, theme
from engine import Turn
from engine.errors import EyrieError
from tests.fake_engine import long_turn
from tests.fake_turn import fake_turn

NAMES = ["acceptance", "speed", "time", "depth", "rank"]


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


def settle(panel, qtbot, count):
    """Wait for the throttled redraw."""
    qtbot.waitUntil(lambda: panel.series.count == count and not panel.redrawing)


def place(chart, x, y):
    """Scene position of a value."""
    return chart.view.mapViewToScene(QPointF(x, y))


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


def test_stack_ends_at_the_total(panel, selection, qtbot):
    """The top of the stack is the time of the round."""
    turn = fake_turn(1, rounds=6)
    selection.show_turn(turn)
    settle(panel, qtbot, 6)
    _, tops = panel.charts["time"].parts["host"].getOriginalDataset()
    assert list(tops) == pytest.approx([r.timings.total for r in turn.rounds])


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


@pytest.mark.parametrize("name", NAMES)
def test_csv_holds_what_is_shown(panel, selection, qtbot, tmp_path, name):
    """Numbers leave the program as numbers."""
    turn = fake_turn(1, rounds=9)
    selection.show_turn(turn)
    path = tmp_path / "chart.csv"
    assert panel.export(name, path)() == path
    rows = list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"))))
    if name == "acceptance":
        assert [int(r["emitted_tokens"]) for r in rows] == [len(r.emitted) for r in turn.rounds]
    elif name == "time":
        assert [float(r["total_ms"]) for r in rows] == pytest.approx([r.timings.total for r in turn.rounds], abs=1e-3)
    elif name == "depth":
        assert {int(r["depth"]): int(r["rounds_reached"]) for r in rows} == turn.stats().reached_by_depth
    elif name == "rank":
        assert sum(int(r["accepted_tokens"]) for r in rows) == sum(turn.stats().accepted_by_rank.values())
    else:
        assert len(rows) == 9


@pytest.mark.parametrize("name", NAMES)
def test_png_is_a_picture(panel, selection, tmp_path, name):
    """Twice the size of the screen, and not empty."""
    selection.show_turn(fake_turn(1))
    path = tmp_path / "chart.png"
    assert panel.export(name, path)() == path
    image = QImage(str(path))
    assert image.width() == 2 * panel.charts[name].width()
    colors = {image.pixelColor(x, y).name() for x in range(0, image.width(), 7) for y in range(0, image.height(), 7)}
    assert len(colors) > 3


@pytest.mark.parametrize("kind", ["png", "csv"])
def test_an_unwritable_export_is_one_sentence(panel, tmp_path, kind):
    """What, where, what to do."""
    write = panel.export("speed", tmp_path / "missing" / f"x.{kind}")
    with pytest.raises(EyrieError, match=rf"x.{kind} cannot be written.*: choose another place"):
        write()


def test_an_export_draws_no_other_chart(panel, selection, tmp_path, monkeypatch):
    """Drawing all of them for one table held the window for 60 ms."""
    selection.show_turn(fake_turn(1))
    drawn = []
    for name, chart in panel.charts.items():
        monkeypatch.setattr(chart, "draw", lambda name=name: drawn.append(name))
    panel.export("speed", tmp_path / "x.csv")
    assert drawn == []
    panel.export("speed", tmp_path / "x.png")
    assert drawn == ["speed"]


def test_theme_reaches_the_plots(panel, selection, qtbot):
    """pyqtgraph ignores the palette."""
    selection.show_turn(fake_turn(1))
    settle(panel, qtbot, 20)
    for mode in ("dark", "light"):
        theme().set_mode(mode)
        for chart in panel.charts.values():
            assert chart.plot.backgroundBrush().color() == theme().color("surface")
            assert chart.item.getAxis("left").textPen().color() == theme().color("muted")


def words(chart):
    """The title line as it is read, with plain spaces."""
    text = QTextDocument()
    text.setHtml(chart.name.text())
    return " ".join(text.toPlainText().split())


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


def test_long_turn_redraws_quickly(panel, selection, qtbot):
    """500 rounds, all five charts, well under a frame of ten a second."""
    selection.show_turn(long_turn(fake_turn(1), 500))
    settle(panel, qtbot, 500)
    times = []
    for _ in range(5):
        began = time.perf_counter()
        for chart in panel.charts.values():
            chart.refresh()
        panel.repaint()
        times.append(time.perf_counter() - began)
    assert sorted(times)[0] < 0.05


def test_choice_of_charts(panel, qtbot):
    """What is hidden takes no room; nothing shown is not possible at the start."""
    with qtbot.waitSignal(panel.shown_changed):
        qtbot.mouseClick(panel.buttons["rank"], Qt.MouseButton.LeftButton)
    assert panel.shown == ["acceptance", "speed", "time", "depth"]
    panel.set_shown(["nonsense"])
    assert panel.shown == list(AT_FIRST)


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


def test_names_for_screen_readers(panel, selection, qtbot):
    """A plot is a picture: it needs words."""
    selection.show_turn(fake_turn(1))
    settle(panel, qtbot, 20)
    for chart in panel.charts.values():
        assert chart.plot.accessibleName()
        assert any(c.isdigit() for c in chart.plot.accessibleDescription())
    assert all(b.text() for b in panel.findChildren(QToolButton))


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
