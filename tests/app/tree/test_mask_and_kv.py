"""The attention mask grid and the cache strip: places, words, links."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import QPointF, Qt
from PySide6.QtWidgets import QLineEdit, QVBoxLayout, QWidget

from app.theme import theme
from app.tree.kv_strip import KvStrip
from app.tree.mask_grid import MaskGrid
from app.tree.mask_pane import MaskPane
from app.tree.words import visible
from engine.trace import KvChange


@pytest.fixture
def mask(qtbot, shown):
    """The mask of a round."""
    mask = MaskGrid()
    qtbot.addWidget(mask)
    mask.resize(700, 600)
    mask.show_round(shown)
    mask.show()
    return mask


@pytest.fixture
def strip(qtbot):
    """An empty strip."""
    strip = KvStrip()
    qtbot.addWidget(strip)
    strip.resize(700, strip.height())
    strip.show()
    return strip


def move(qtbot, widget, at: QPointF):
    """The mouse over a point."""
    qtbot.mouseMove(widget, at.toPoint())


def test_hover_names_who_sees_whom(mask, shown, qtbot):
    """The point of the grid: ancestors are seen, other branches are not."""
    hovered = []
    mask.node_hovered.connect(hovered.append)
    child = shown.nodes[shown.accepted[0]]
    move(qtbot, mask, mask.cell_rect(child.row, 0).center())
    root = visible(shown.nodes[0].text)
    assert mask.readout() == f"{visible(child.text)} (row {child.row}) sees {root} (row 0): its ancestor."
    assert hovered == [child.id]
    move(qtbot, mask, mask.cell_rect(child.row, -1).center())
    assert mask.readout().endswith(f"sees all {shown.kv.before} context rows.")
    other = next(n for n in shown.nodes if n.kept and n.depth == 1 and n.id != child.id)
    low, high = sorted((child, other), key=lambda n: n.row)
    move(qtbot, mask, mask.cell_rect(high.row, low.row).center())
    assert mask.readout().endswith(f"does not see {visible(low.text)} (row {low.row}): on another branch.")
    move(qtbot, mask, mask.cell_rect(low.row, high.row).center())
    assert mask.readout().endswith("a later row.")
    move(qtbot, mask, QPointF(1, 1))
    assert hovered[-1] == -1
    assert mask.readout().startswith("25 rows in one pass")


def test_cells_tile_the_grid(mask):
    """Each point belongs to the cell that is painted there; the whole grid lies in the widget."""
    for cell in ((0, -1), (3, 3), (24, 24), (24, -1), (10, 20)):
        assert mask.cell_at(mask.cell_rect(*cell).center()) == cell
        assert mask.rect().contains(mask.cell_rect(*cell).toRect())
    assert mask.cell_at(QPointF(5, mask.cell_rect(4, 0).center().y())) == (4, 4)
    assert mask.cell_at(QPointF(mask.width() - 1, mask.cell_rect(4, 0).center().y())) is None


def test_large_passes_scroll_instead_of_shrinking(mask, again):
    """Cells stay big enough to point at: the widget asks for the room."""
    mask.resize(100, 100)
    assert mask.cell_size() == pytest.approx(9.0, abs=0.2)
    assert mask.minimumHeight() > 25 * 9
    mask.show_round(again)
    assert mask.minimumHeight() > 28 * 9


def test_keys_move_the_cell_and_say_it(mask, qtbot):
    """The mask can be read without a mouse."""
    qtbot.keyClick(mask, Qt.Key.Key_Down)
    assert mask.cell == (0, 0)
    qtbot.keyClick(mask, Qt.Key.Key_Down)
    qtbot.keyClick(mask, Qt.Key.Key_Left)
    qtbot.keyClick(mask, Qt.Key.Key_Left)
    assert mask.cell == (1, -1)
    assert "context rows" in mask.accessibleDescription()


def test_an_empty_mask_says_so(mask, qtbot):
    """Before the first round there is no pass."""
    mask.show_round(None)
    assert mask.readout() == "No pass to show yet."
    mask.grab()
    qtbot.keyClick(mask, Qt.Key.Key_Down)
    assert mask.cell is None


def test_padding_is_named(mask, again, qtbot):
    """Rows that hold no token must not look like nodes."""
    mask.show_round(again)
    move(qtbot, mask, mask.cell_rect(27, 27).center())
    assert mask.readout() == "row 27 is padding: nothing reads it."


def test_painting_works_in_both_themes_and_all_states(mask, strip, again, plain, qtbot):
    """Every branch of painting runs without a warning."""
    for mode in ("light", "dark"):
        theme().set_mode(mode)
        for r in (again, plain, None):
            mask.show_round(r)
            mask.mark(0)
            mask._point((0, 0) if r else None)
            mask.grab()
            for step in ("root", "verify", "commit"):
                strip.show_round(r, step)
                strip.mark(0)
                strip.grab()


def test_strip_counts_kept_and_dropped(strip, shown):
    """The words hold the record's counts; what has not happened yet is not said."""
    before = shown.kv.before
    strip.show_round(shown, "prune")
    assert strip.readout() == f"KV cache: {before} rows; the pass has not run yet"
    strip.show_round(shown, "verify")
    assert strip.readout() == f"KV cache: {before} rows + 25 appended by the pass"
    strip.show_round(shown)
    assert strip.readout() == f"KV cache: {before} rows + 25 appended, 4 kept, 21 dropped → {before + 4} rows"
    assert strip.accessibleDescription() == strip.readout()


def test_compaction_is_told_row_by_row(strip, shown, qtbot):
    """A kept row that moves says where to; a dropped one says so."""
    scattered = replace(shown, kv=KvChange(100, 25, (0, 5)))
    strip.show_round(scattered)
    hovered = []
    strip.node_hovered.connect(hovered.append)
    move(qtbot, strip, strip.cell(5).center())
    assert strip.readout().endswith(": kept, moves to row 101")
    assert strip.readout().startswith("row 105: ")
    move(qtbot, strip, strip.cell(6).center())
    assert strip.readout().endswith(": dropped")
    move(qtbot, strip, strip.cell(0).center())
    assert strip.readout().endswith("the root: kept in place")
    assert hovered[0] == next(n.id for n in shown.nodes if n.row == 5)
    assert strip.kept_cell(1).left() < strip.cell(5).left()


def test_strip_fits_its_width(strip, again):
    """64 rows must not run out of the window."""
    strip.resize(300, strip.height())
    strip.show_round(again)
    assert strip.cell(27).right() <= 300


def accent(widget) -> bool:
    """Whether the colour of the focus is anywhere in its picture."""
    picture, wanted = widget.grab().toImage(), theme().color("accent").rgb()
    return any(picture.pixel(x, y) == wanted for y in range(picture.height()) for x in range(picture.width()))


@pytest.fixture
def between(qtbot, shown):
    """A field, the mask, the strip and a field: what Tab goes through."""
    host = QWidget()
    box = QVBoxLayout(host)
    host.stops = QLineEdit(), MaskGrid(), KvStrip(), QLineEdit()
    for widget in host.stops:
        box.addWidget(widget)
    host.stops[1].show_round(shown)
    host.stops[2].show_round(shown)
    qtbot.addWidget(host)
    host.resize(700, 600)
    host.move(500, 500)  # away from the mouse
    with qtbot.waitActive(host):
        host.show()
    host.stops[0].setFocus()
    return host


def test_tab_shows_where_it_is_and_leaves_nothing_behind(between, shown, qtbot):
    """The mask had the focus unseen, and what its keys had marked stayed marked everywhere; the strip had no keys."""
    _, mask, strip, last = between.stops
    nodes: list[int] = []
    mask.node_hovered.connect(nodes.append)
    strip.node_hovered.connect(nodes.append)
    assert not accent(mask)
    qtbot.keyClick(between.focusWidget(), Qt.Key.Key_Tab)
    assert (mask.hasFocus(), mask.cell, nodes) == (True, (0, 0), [0])
    assert accent(mask)
    assert not accent(strip)
    qtbot.keyClick(mask, Qt.Key.Key_Tab)
    assert (strip.hasFocus(), mask.cell, strip.row, nodes) == (True, None, 0, [0, -1, 0])
    assert accent(strip)
    assert not accent(mask)
    qtbot.keyClick(strip, Qt.Key.Key_Tab)
    assert (last.hasFocus(), strip.row, nodes) == (True, None, [0, -1, 0, -1])
    assert not accent(strip)
    qtbot.keyClick(last, Qt.Key.Key_Backtab)
    assert (strip.hasFocus(), strip.row) == (True, 0)


def test_keys_walk_the_strip_and_say_each_row(between, shown, qtbot):
    """Which row goes where could be read with a mouse only."""
    strip = between.stops[2]
    strip.setFocus(Qt.FocusReason.TabFocusReason)
    qtbot.keyClick(strip, Qt.Key.Key_Right)
    assert strip.accessibleDescription().startswith(f"row {shown.kv.before + 1}: ")
    qtbot.keyClick(strip, Qt.Key.Key_End)
    assert strip.row == len(strip.rows) - 1
    qtbot.keyClick(strip, Qt.Key.Key_Right)
    assert strip.row == len(strip.rows) - 1
    qtbot.keyClick(strip, Qt.Key.Key_Home)
    qtbot.keyClick(strip, Qt.Key.Key_Left)
    assert strip.row == 0


def test_the_focus_is_seen_where_there_is_no_row(between, qtbot):
    """Before the first round, and after a click."""
    for widget in between.stops[1:3]:
        widget.show_round(None)
        widget.setFocus(Qt.FocusReason.TabFocusReason)
        assert accent(widget)
        qtbot.keyClick(widget, Qt.Key.Key_Right)
    assert between.stops[2].row is None


def test_the_cell_that_the_keys_are_on_stays_in_sight(again, on_screen, qtbot):
    """Large masks scroll; the keys went on below the edge."""
    pane = MaskPane()
    pane.grid.show_round(again)
    on_screen(pane, 300, 200)
    qtbot.waitUntil(pane.isActiveWindow)
    pane.grid.clearFocus()  # which the only stop of a window gets by itself
    pane.grid.setFocus(Qt.FocusReason.TabFocusReason)
    for _ in range(20):
        qtbot.keyClick(pane.grid, Qt.Key.Key_Down)
    assert pane.grid.cell == (20, 0)
    assert pane.grid.visibleRegion().contains(pane.grid.cell_rect(20, 0).toRect().center())
