"""The tree in its window: fit, zoom, pan, hover, click, keyboard, words for screen readers."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QKeyEvent

from app.tree.drawing import OWN
from app.tree.facts import facts
from app.tree.phases import steps
from app.tree.view import NOTHING
from app.tree.words import describe
from engine.trace import Phase
from tests.app.tree.tree_help import seen, spot
from tests.fake_turn import fake_turn


def test_an_empty_view_says_what_to_do(view):
    """No blank pane."""
    assert view.nothing.isVisible()
    assert view.nothing.text() == NOTHING
    assert "recorded run" in view.accessibleDescription()


def test_a_round_is_described_and_fitted(view, shown):
    """All of it in sight, and said."""
    view.show_round(shown)
    assert not view.nothing.isVisible()
    assert view.accessibleName()
    assert view.accessibleDescription() == describe(shown)
    assert seen(view).adjusted(-2, -2, 2, 2).contains(view.tree.content_rect)


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
