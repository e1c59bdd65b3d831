"""The tree in its window: fit, zoom, pan, hover, click, keyboard, words for screen readers."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QKeyEvent, QWheelEvent

from app.tree.canvas import ESSENCE_LEAST, FIT_LEAST
from app.tree.drawing import OWN
from app.tree.facts import facts
from app.tree.phases import steps
from app.tree.view import NOTHING, TreeView
from app.tree.words import describe
from engine.trace import Phase
from tests.fake_turn import fake_turn


@pytest.fixture
def view(qtbot):
    """A shown view of 800 by 500 pixels."""
    view = TreeView()
    qtbot.addWidget(view)
    view.resize(800, 500)
    view.show()
    qtbot.waitExposed(view)
    return view


def spot(view, key):
    """Middle of a card in viewport pixels."""
    return view.mapFromScene(view.tree.nodes[key].pos())


def wheel(view, delta, modifiers):
    """A turn of the wheel over the middle."""
    at = QPointF(view.viewport().rect().center())
    event = QWheelEvent(
        at, view.viewport().mapToGlobal(at), QPoint(), QPoint(0, delta), Qt.MouseButton.NoButton, modifiers,
        Qt.ScrollPhase.NoScrollPhase, False,
    )  # fmt: skip
    view.wheelEvent(event)


def seen(view):
    """What is in sight, in scene units."""
    return view.mapToScene(view.viewport().rect()).boundingRect()


def test_an_empty_view_says_what_to_do(view):
    """No blank pane."""
    assert view.nothing.isVisible()
    assert view.nothing.text() == NOTHING
    assert "recorded trace" in view.accessibleDescription()


def test_a_round_is_described_and_fitted(view, shown):
    """All of it in sight, and said."""
    view.show_round(shown)
    assert not view.nothing.isVisible()
    assert view.accessibleName()
    assert view.accessibleDescription() == describe(shown)
    assert seen(view).adjusted(-2, -2, 2, 2).contains(view.tree.content_rect)


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


def test_the_mouse_is_followed_without_a_button(view):
    """Qt turns tracking off for scenes whose items take no hover events."""
    assert view.viewport().hasMouseTracking()


def test_a_card_of_a_hidden_node_goes(view, shown, qtbot):
    """Stepping back hides the node: what was said about it must not stay in the air."""
    view.show_round(shown)
    view.set_current(shown.accepted[0])
    assert view.hover_card.isVisible()
    view.show_round(shown, steps(shown)[0])
    assert not view.hover_card.isVisible()


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


def test_click_tells_the_node(view, shown, qtbot):
    """Own token and empty ground included."""
    view.show_round(shown)
    clicks = []
    view.node_clicked.connect(clicks.append)
    for key in (shown.accepted[0], OWN):
        qtbot.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=spot(view, key))
    qtbot.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(2, 2))
    assert clicks == [shown.accepted[0], len(shown.nodes), -1]


def test_hover_shows_every_field_and_ends(view, shown, qtbot):
    """The card says all that is known, inside the view and not over the node."""
    view.show_round(shown)
    hovered = []
    view.node_hovered.connect(hovered.append)
    key = shown.accepted[1]
    qtbot.mouseMove(view.viewport(), spot(view, key))
    card = view.hover_card
    assert card.isVisible()
    title, fate, pairs = facts(shown, key)
    assert card.text() == "\n".join([title, fate, *(f"{name}: {value}" for name, value in pairs)])
    assert view.viewport().rect().contains(card.geometry())
    assert not card.geometry().contains(spot(view, key))
    qtbot.mouseMove(view.viewport(), QPoint(2, 2))
    assert not card.isVisible()
    view.viewportEvent(QEvent(QEvent.Type.Leave))
    assert hovered == [key, -1]


def test_token_text_is_never_markup(view):
    """A model may write HTML; the hover card shows it as written."""
    shown = fake_turn(1, rounds=1, topk=2, depth=2, length=4, tokens=["<img src=x>", "<b>no</b>"], accept=1.0).rounds[0]
    view.show_round(shown)
    view.set_current(shown.accepted[0])
    for label in (view.hover_card.title, view.hover_card.fate, view.nothing):
        assert label.textFormat() == Qt.TextFormat.PlainText
    assert "<" in view.hover_card.title.text()


def test_arrows_walk_and_say_where(view, shown, qtbot):
    """The tree can be read without a mouse."""
    view.show_round(shown)
    hovered, clicked = [], []
    view.node_hovered.connect(hovered.append)
    view.node_clicked.connect(clicked.append)
    for key in (Qt.Key.Key_Right, Qt.Key.Key_Right, Qt.Key.Key_Return):
        qtbot.keyClick(view, key)
    first = shown.accepted[0]
    assert (hovered, clicked) == ([0, first], [first])
    assert view.tree.nodes[first].current
    assert view.hover_card.isVisible()
    assert view.accessibleDescription().startswith(facts(shown, first)[0])
    qtbot.keyClick(view, Qt.Key.Key_Escape)
    assert view.tree.marked("current") is None
    assert hovered[-1] == -1
    view.set_sideways(False)
    qtbot.keyClick(view, Qt.Key.Key_Home)
    qtbot.keyClick(view, Qt.Key.Key_Down)
    assert view.tree.marked("current") == first


def test_unknown_keys_are_left_to_the_panel(view, shown):
    """Space and comma belong to the steps and the timeline."""
    view.show_round(shown)
    for key in (Qt.Key.Key_Space, Qt.Key.Key_Comma, Qt.Key.Key_Escape):
        event = QKeyEvent(QEvent.Type.KeyPress, key, Qt.KeyboardModifier.NoModifier)
        view.keyPressEvent(event)
        assert not event.isAccepted()


def test_steps_and_ghosts_keep_the_view_steady(view, shown):
    """From step to step neither zoom nor scroll moves."""
    view.show_round(shown, steps(shown)[0])
    before = view.transform(), view.mapToScene(QPoint())
    for step in steps(shown):
        view.show_round(shown, step)
    assert (view.transform(), view.mapToScene(QPoint())) == before
    assert "Shown at" not in view.accessibleDescription()
    view.show_round(shown, steps(shown)[2])
    assert view.accessibleDescription().endswith("Shown at level 2")
    view.set_ghosts(True)
    assert len(view.tree.nodes) == 70


def test_a_waiting_engine_s_tree_is_drawn(view, shown):
    """Partial nodes, no fate yet, and words for it."""
    nodes = tuple(n._replace(kept=False, row=-1, target_token=-1, accepted=False) for n in shown.nodes if n.depth < 2)
    view.show_phase(Phase(3, "level", 1, nodes))
    assert [i.kind for i in view.tree.nodes.values()] == ["root", "drafted", "drafted", "drafted", "drafted"]
    assert view.accessibleDescription() == "round 4: the engine waits at level, 5 nodes"
    view.show_round(shown)
    assert view.phase is None


@pytest.mark.parametrize("size", [(900, 600), (720, 230)])
@pytest.mark.parametrize("kind", ["shown", "copied"])
def test_the_hover_card_says_all_in_a_low_view(view, request, qtbot, size, kind):
    """Its last lines, what the target wanted, were below the edge of the tree in a window of 1280 by 800; and what is
    said of an estimate, or of a long word, was cut at its right side."""
    view.resize(*size)
    shown = request.getfixturevalue(kind)
    first = shown.nodes[shown.accepted[0]]._replace(target_text=" extraordinarily")
    shown = replace(shown, nodes=tuple(first if n.id == first.id else n for n in shown.nodes))
    view.show_round(shown)
    view.set_current(shown.accepted[0])
    card = view.hover_card
    assert view.viewport().rect().contains(card.geometry())
    labels = [label for row in card._rows for label in row if label.isVisible()]
    assert labels
    card.layout().activate()
    assert all(card.rect().contains(label.geometry()) for label in labels)
    assert all(label.width() >= label.sizeHint().width() for label in labels)
