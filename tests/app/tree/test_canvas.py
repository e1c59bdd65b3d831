"""Zoom, scrolling and panning: what is in sight, and whose view it is."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import QPoint, Qt

from app.tree.canvas import ESSENCE_LEAST, FIT_LEAST
from app.tree.drawing import OWN
from app.tree.phases import steps
from tests.app.tree.tree_help import seen, spot, wheel
from tests.fake_turn import fake_turn


def test_a_tree_too_large_to_read_shows_its_accepted_path(view):
    """The automatic fit stops where text gets unreadable; F still shows everything."""
    turn = fake_turn(6, rounds=8, topk=8, depth=5, length=64)
    shown = max(turn.rounds, key=lambda r: len(r.accepted))
    view.resize(1400, 400)
    view.show_round(shown)
    assert ESSENCE_LEAST <= view.scale_now <= FIT_LEAST
    assert seen(view).contains(view.tree.nodes[OWN].pos())
    assert seen(view).contains(view.tree.nodes[0].pos())
    view.fit()
    assert view.scale_now < ESSENCE_LEAST
    assert seen(view).adjusted(-9, -9, 9, 9).contains(view.tree.content_rect)


@pytest.mark.parametrize("accepted", [0, 3, -1])
def test_the_accepted_path_of_a_wide_tree_is_in_sight_in_a_low_window(view, accepted):
    """It ran up to one corner while the view went to another: at 1280 by 800 no accepted node of 64 was to be seen."""
    turn = fake_turn(6, rounds=8, topk=8, depth=5, length=64)
    shown = max(turn.rounds, key=lambda r: len(r.accepted))
    nodes = [n._replace(accepted=False) if n.id else n for n in shown.nodes]
    first = [n.id for n in shown.children(0) if n.kept][accepted]
    below = [n.id for n in shown.children(first) if n.kept][:1]
    for i in (first, *below):
        nodes[i] = nodes[i]._replace(accepted=True)
    shown = replace(shown, nodes=tuple(nodes), accepted=(first, *below))
    view.resize(600, 190)
    view.show_round(shown)
    path = [view.tree.nodes[key].pos() for key in (*shown.path(), OWN)]
    assert {at.y() for at in path} == {0.0}
    assert all(seen(view).contains(at) for at in path)


@pytest.mark.parametrize("sideways", [True, False])
def test_a_long_copied_chain_stays_readable_and_is_followed(view, copied, sideways):
    """Sixteen tokens in a row do not fit: the root while drafting, the end of the walk from the walk on."""
    view.resize(*((600, 300) if sideways else (300, 400)))
    view.set_sideways(sideways)
    root, copy, *_, accept, _commit = steps(copied)
    for step, start, end in ((root, True, False), (copy, True, False), (accept, False, True), (root, True, False)):
        view.show_round(copied, step)
        assert view.scale_now == pytest.approx(FIT_LEAST)
        assert seen(view).contains(view.tree.nodes[0].pos()) is start, step.label
        assert seen(view).contains(view.tree.nodes[OWN].pos()) is end, step.label
    view.show_round(copied)
    assert seen(view).contains(view.tree.nodes[OWN].pos()), "live shows where it ended"
    view.fit()
    assert seen(view).adjusted(-9, -9, 9, 9).contains(view.tree.content_rect), "F shows all"


def test_scrolling_along_a_chain_is_the_user_s_view(view, copied):
    """Dragging the scroll bar must not be undone by the next step."""
    view.resize(600, 300)
    view.show_round(copied)
    bar = view.horizontalScrollBar()
    bar.triggerAction(bar.SliderAction.SliderPageStepSub)
    place = bar.value()
    view.show_round(copied, steps(copied)[0])
    assert bar.value() == place
    assert view.own_zoom


def test_small_trees_are_not_blown_up(view, plain):
    """A plain round is two cards, not a poster."""
    view.show_round(plain)
    assert view.scale_now == pytest.approx(1.25)


def test_zoom_by_wheel_and_keys_keeps_the_user_s_view(view, shown, turn, qtbot):
    """After zooming, the next round must not throw the view back; F gives the automatic fit again."""
    view.show_round(shown)
    before = view.scale_now
    wheel(view, 120, Qt.KeyboardModifier.ControlModifier)
    assert view.scale_now == pytest.approx(before * 1.2)
    qtbot.keyClick(view, Qt.Key.Key_Minus)
    qtbot.keyClick(view, Qt.Key.Key_Minus)
    assert view.scale_now == pytest.approx(before / 1.2)
    view.show_round(turn.rounds[0])
    assert view.scale_now == pytest.approx(before / 1.2)
    qtbot.keyClick(view, Qt.Key.Key_F)
    assert not view.own_zoom


def test_scrolling_where_there_is_nothing_to_scroll_changes_nothing(view, shown):
    """A stray turn of the wheel must not end the automatic fit."""
    view.show_round(shown)
    wheel(view, -120, Qt.KeyboardModifier.NoModifier)
    assert not view.own_zoom
    view.zoom(4)
    view.fit()
    view.scale(3, 3)
    wheel(view, -120, Qt.KeyboardModifier.NoModifier)
    assert view.own_zoom


def test_zoom_has_ends(view, shown):
    """Never so far that nothing can be found again."""
    view.show_round(shown)
    for _ in range(60):
        view.zoom(1.5)
    assert view.scale_now == pytest.approx(4.0)
    for _ in range(60):
        view.zoom(0.5)
    assert view.scale_now == pytest.approx(0.08)


def test_the_root_keeps_its_place_under_the_user_s_zoom(view, turn):
    """Scrubbing through rounds at a chosen zoom: the root is the fixed point."""
    view.show_round(turn.rounds[4])
    view.zoom(3.0)
    view.centerOn(view.tree.nodes[0].pos())
    before = spot(view, 0)
    view.show_round(turn.rounds[5])
    assert (spot(view, 0) - before).manhattanLength() <= 2


def test_dragging_pans_and_does_not_click(view, shown, qtbot):
    """A pan that begins on a node must not pin it."""
    view.show_round(shown)
    view.zoom(2.5)
    clicks = []
    view.node_clicked.connect(clicks.append)
    start = spot(view, shown.accepted[0])
    before = view.horizontalScrollBar().value()
    qtbot.mousePress(view.viewport(), Qt.MouseButton.LeftButton, pos=start)
    qtbot.mouseMove(view.viewport(), start - QPoint(60, 0))
    qtbot.mouseRelease(view.viewport(), Qt.MouseButton.LeftButton, pos=start - QPoint(60, 0))
    assert view.horizontalScrollBar().value() == before + 60
    assert clicks == []
