"""Places of nodes: tidy, in order, without overlaps, whatever the shape of the tree."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.tree.layout import Place, tidy

GAP = 0.5


def sizes(key: int) -> float:
    """Two sizes of node, as cards and ghosts."""
    return 1.0 if key % 3 else 0.4


@st.composite
def trees(draw) -> dict[int, list[int]]:
    """Children by parent; a node's parent always has a smaller id."""
    children: dict[int, list[int]] = {}
    for i in range(1, draw(st.integers(1, 60))):
        children.setdefault(draw(st.integers(0, i - 1)), []).append(i)
    return children


def test_one_node_sits_at_the_origin():
    """A plain round has only a root."""
    assert tidy(0, {}, sizes, GAP) == {0: Place(0, 0.0)}


def test_a_chain_is_a_straight_line():
    """eagle_topk 1 makes chains; they must not wander."""
    places = tidy(0, {0: [1], 1: [2], 2: [3]}, sizes, GAP)
    assert [places[i] for i in range(4)] == [Place(i, 0.0) for i in range(4)]


def test_two_siblings_share_the_gap():
    """The free space between siblings is what was asked for."""
    places = tidy(0, {0: [1, 2]}, lambda _: 1.0, GAP)
    assert places[1].across == pytest.approx(-0.75)
    assert places[2].across == pytest.approx(0.75)


def test_a_deep_cousin_pushes_only_as_far_as_it_must():
    """Subtrees are packed along their outlines, not in boxes: a short one fits beside a tall one's stem."""
    places = tidy(0, {0: [1, 2], 1: [3, 4, 5]}, lambda _: 1.0, 0.0)
    assert places[2].across - places[1].across == pytest.approx(1.0)


@given(trees())
def test_no_two_nodes_of_a_level_overlap(children):
    """Text over text cannot be read."""
    places = tidy(0, children, sizes, GAP)
    for depth in {p.depth for p in places.values()}:
        level = sorted((p.across, k) for k, p in places.items() if p.depth == depth)
        for (a, i), (b, j) in pairwise(level):
            assert b - a >= (sizes(i) + sizes(j)) / 2 + GAP - 1e-9


@given(trees())
def test_parents_are_centred_and_children_in_order(children):
    """Rank order is read from the drawing; a parent in the middle shows where a fan comes from."""
    places = tidy(0, children, sizes, GAP)
    assert places[0] == Place(0, 0.0)
    for parent, below in children.items():
        across = [places[c].across for c in below]
        assert across == sorted(across)
        assert (across[0] + across[-1]) / 2 == pytest.approx(places[parent].across)
        assert {places[c].depth for c in below} == {places[parent].depth + 1}


@given(trees(), st.randoms(use_true_random=False))
def test_a_spine_is_a_straight_line_and_moves_nothing_out_of_order(children, random):
    """The accepted path must be found at a glance, also in a tree too tall for the window."""
    spine = [0]
    while spine[-1] in children:
        spine.append(random.choice(children[spine[-1]]))
    places = tidy(0, children, sizes, GAP, frozenset(spine))
    assert [places[key] for key in spine] == [Place(depth, pytest.approx(0.0)) for depth in range(len(spine))]
    for parent, below in children.items():
        across = [places[c].across for c in below]
        assert across == sorted(across)
        if parent not in spine:
            assert (across[0] + across[-1]) / 2 == pytest.approx(places[parent].across)
    for depth in {p.depth for p in places.values()}:
        level = sorted((p.across, k) for k, p in places.items() if p.depth == depth)
        assert all(b - a >= (sizes(i) + sizes(j)) / 2 + GAP - 1e-9 for (a, i), (b, j) in pairwise(level))


@given(trees())
def test_every_node_has_one_place(children):
    """Nothing is lost and nothing is invented."""
    assert set(tidy(0, children, sizes, GAP)) == {0, *(c for below in children.values() for c in below)}
