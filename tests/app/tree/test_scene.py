"""The scene: places, looks and labels of cards and edges, and that items live on from step to step."""

from __future__ import annotations

import time

import pytest
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QImage, QPainter

from app.theme import theme
from app.tree.drawing import OWN, round_drawing
from app.tree.look import SMALL, Face, Measures, edge_width, look, mark_path
from app.tree.phases import steps
from app.tree.scene import TreeScene
from tests.fake_turn import fake_turn


@pytest.fixture
def scene(qapp):
    """An empty scene."""
    scene = TreeScene()
    scene.restyle()
    return scene


def show(scene, shown, step=-1, ghosts=False, sideways=True):
    """Draw a round at a step."""
    scene.show_drawing(round_drawing(shown, steps(shown)[step], ghosts), sideways)


def places(scene):
    """Position of every card."""
    return {key: (item.pos().x(), item.pos().y()) for key, item in scene.nodes.items()}


@pytest.mark.parametrize("sideways", [True, False])
@pytest.mark.parametrize("ghosts", [True, False])
def test_items_and_places_stay_from_step_to_step(scene, shown, ghosts, sideways):
    """Nodes must not jump or be made anew while a round is stepped through."""
    show(scene, shown, 0, ghosts, sideways)
    items, before = dict(scene.nodes), places(scene)
    for step in range(1, len(steps(shown))):
        show(scene, shown, step, ghosts, sideways)
        assert scene.nodes == items
        assert places(scene) == before


@pytest.mark.parametrize("sideways", [True, False])
@pytest.mark.parametrize("ghosts", [True, False])
def test_no_card_lies_on_another(scene, shown, again, ghosts, sideways):
    """Ghosts, the own token and replayed rows included."""
    for r in (shown, again):
        show(scene, r, -1, ghosts, sideways)
        rects = [item.rect.translated(item.pos()) for item in scene.nodes.values()]
        assert not any(a.intersects(b) for i, a in enumerate(rects) for b in rects[:i])


def test_depth_is_a_column_and_the_root_stays_put(scene, shown, again):
    """Left to right, the root at the origin: the next round's root is where the eye already is."""
    show(scene, again)
    assert places(scene)[0] == (0.0, 0.0)
    pitch = places(scene)[shown.accepted[0]][0]
    assert pitch > 0
    for node in shown.nodes:
        if node.kept:
            assert places(scene)[node.id][0] == pytest.approx(node.depth * pitch)
    assert places(scene)["again 1"] == (-pitch, 0.0)


def test_top_down_turns_levels_into_rows(scene, shown):
    """The other orientation."""
    show(scene, shown, sideways=False)
    pitch = places(scene)[shown.accepted[0]][1]
    assert all(places(scene)[n.id][1] == pytest.approx(n.depth * pitch) for n in shown.nodes if n.kept)


def test_each_fate_has_its_look(qapp):
    """Every colour is doubled by a shape: dash, width, double border or mark."""
    accepted, rejected, bonus, drafted, pruned = (
        look(kind) for kind in ("accepted", "rejected", "bonus", "drafted", "pruned")
    )
    assert [s.edge.name() for s in (accepted, rejected, bonus, drafted)] == ["#0072b2", "#d55e00", "#e69f00", "#56b4e9"]
    assert accepted.border.style() == Qt.PenStyle.SolidLine
    assert accepted.border.widthF() > rejected.border.widthF() > drafted.border.widthF()
    assert rejected.border.style() == pruned.border.style() == Qt.PenStyle.CustomDashLine
    assert rejected.border.dashPattern() != pruned.border.dashPattern()
    assert (bonus.double, accepted.double) == (True, False)
    assert [s.mark for s in (accepted, rejected, bonus, drafted)] == ["tick", "cross", "star", ""]
    assert look("replayed").mark == "again"
    for mark in ("tick", "cross", "star", "again"):
        assert not mark_path(mark, 5).isEmpty()


def test_looks_follow_the_theme(qapp):
    """A card must not stay white on a dark ground."""
    light = look("drafted").fill.color()
    theme().set_mode("dark")
    assert look("drafted").fill.color().lightness() < 80 < light.lightness()


def test_edges_are_as_wide_as_they_are_likely(scene, shown):
    """Width is probability, and the number says it."""
    show(scene, shown)
    for key, edge in scene.edges.edges.items():
        if key == OWN:
            assert edge.label == ""
            continue
        p = scene.card(key).p
        assert edge.label.endswith("%")
        assert edge.pen.widthF() == pytest.approx(edge_width(edge.kind, p), abs=0.1)
    assert edge_width("drafted", 0.9) > edge_width("drafted", 0.1)
    assert edge_width("accepted", 0.0) >= 3.5


def test_edges_end_where_cards_begin(scene, shown):
    """No line may stop in the air or run under a card."""
    for sideways in (True, False):
        show(scene, shown, -1, True, sideways)
        for key, edge in scene.edges.edges.items():
            card, parent = scene.nodes[key], scene.nodes[scene.card(key).parent]
            begin, before = card.rect.translated(card.pos()), parent.rect.translated(parent.pos())
            along = (begin.left(), before.right()) if sideways else (begin.top(), before.bottom())
            assert (edge.end[0 if sideways else 1], edge.start[0 if sideways else 1]) == pytest.approx(along)


def test_numbers_on_edges_lie_on_no_card(scene, shown):
    """They stand in the free space between the levels."""
    show(scene, shown, -1, True)
    rects = [item.rect.translated(item.pos()) for item in scene.nodes.values()]
    labels = [e.at for e in scene.edges.edges.values() if e.label]
    assert labels
    assert not any(label.intersects(rect) for label in labels for rect in rects)


def test_hidden_cards_have_no_edge(scene, shown):
    """At the root step only the root is seen, but the room for all is kept."""
    show(scene, shown, -1)
    whole = scene.sceneRect()
    show(scene, shown, 0)
    assert [k for k, item in scene.nodes.items() if item.isVisible()] == [0]
    assert scene.edges.edges == {}
    assert scene.sceneRect() == whole


def test_accepted_path_is_drawn_last(scene, shown):
    """A thin edge must not cross over the thick path."""
    show(scene, shown)
    kinds = [e.kind for e in scene.edges.edges.values()]
    assert kinds[-3:] == ["accepted"] * 3


def test_long_tokens_are_cut_in_the_middle(scene):
    """A card never grows and never overflows; the full text is kept for the hover card."""
    words = ["<b>" + "long" * 20 + "</b>", " end"]
    shown = fake_turn(1, rounds=1, topk=2, depth=2, length=2, tokens=words, accept=1.0).rounds[0]
    show(scene, shown)
    item = next(i for i in scene.nodes.values() if i.text.startswith("<b>"))
    assert "…" in item.shown_text
    assert item.shown_text.startswith("<b>")  # tags are text
    measures = Measures(True)
    assert measures.bold.width(item.shown_text) <= item.rect.width()


def test_a_word_that_is_just_too_long_is_written_smaller(scene):
    """“ingredients” was “ing…ents” in an empty window."""
    shown = fake_turn(1, rounds=1, topk=2, depth=2, length=2, tokens=[" ingredients", " end"], accept=1.0).rounds[0]
    show(scene, shown)
    item = next(i for i in scene.nodes.values() if i.text == "␣ingredients" and i.kind == "accepted")
    assert item.shown_text == "␣ingredients"
    assert Face(SMALL).width(item.shown_text) <= item.rect.width()


def test_rings_go_where_they_are_put(scene, shown):
    """Hovered, pinned and current are three things, and each is in one place."""
    show(scene, shown)
    first, second = shown.accepted[:2]
    scene.mark("hovered", first)
    scene.mark("pinned", second)
    scene.mark("hovered", second)
    assert [(i.hovered, i.pinned) for i in (scene.nodes[first], scene.nodes[second])] == [(False, False), (True, True)]
    scene.mark("hovered", 10_000)
    assert scene.marked("hovered") is None
    show(scene, shown, 0)
    assert scene.marked("pinned") is None  # hidden at this step
    show(scene, shown, -1)
    assert scene.marked("pinned") == second


def test_a_point_finds_its_card(scene, shown):
    """Hover and click."""
    show(scene, shown)
    key = shown.accepted[0]
    assert scene.key_at(scene.nodes[key].pos() + QPointF(3, 3)) == key
    assert scene.key_at(QPointF(-500, 0)) is None
    show(scene, shown, 0)
    assert scene.key_at(scene.nodes[key].pos() + QPointF(3, 3)) is None


def test_another_round_reuses_and_removes_items(scene, turn, plain):
    """No item may be left over from a larger tree."""
    show(scene, turn.rounds[0])
    root = scene.nodes[0]
    show(scene, plain)
    assert set(scene.nodes) == {0, OWN}
    assert scene.nodes[0] is root
    assert len(scene.items()) == 3  # two cards and the item of all edges
    scene.show_drawing(type(scene.drawing)((), None))
    assert len(scene.items()) == 1


def test_the_largest_trees_are_drawn_in_time(scene, record_property):
    """64 verified nodes, and 264 candidates with ghosts: count them, report the time, paint without an error."""
    shown = fake_turn(4, rounds=1, topk=8, depth=5, length=64).rounds[0]
    image = QImage(900, 500, QImage.Format.Format_RGB32)
    for ghosts, count in ((False, 66), (True, 266)):
        began = time.perf_counter()
        show(scene, shown, -1, ghosts)
        painter = QPainter(image)
        scene.render(painter, QRectF(0, 0, 900, 500), scene.sceneRect())
        painter.end()
        record_property(f"ms_{count}_cards", round(1000 * (time.perf_counter() - began), 1))
        assert len(scene.nodes) == count
        assert len(scene.edges.edges) == count - 1
