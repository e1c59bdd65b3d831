"""The draft tree: golden cases, the rules every tree obeys, and what it refuses."""

from __future__ import annotations

import gzip
import json
import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.token_tree import PrunedTree, TokenTree

CASES = json.loads(gzip.decompress((Path(__file__).parents[1] / "data" / "token_tree_cases.json.gz").read_bytes()))

# Few different values, so that ties, certainties (0) and impossibilities (-inf) are common.
SCORES = st.one_of(st.sampled_from([0.0, -0.5, -1.0, -math.inf]), st.floats(-20, 0, width=32))


@st.composite
def grown(draw: Any) -> tuple[TokenTree, list[np.ndarray], int]:
    """A tree with random scores (rows unsorted too), the parent rows its grow calls gave, and a number to keep."""
    topk, depth = draw(st.integers(1, 5)), draw(st.integers(1, 7))
    tree, rows = TokenTree(topk), []
    for level in range(depth):
        count = topk if level == 0 else topk * topk
        shape = (topk,) if level == 0 else (topk, topk)
        scores = np.array(draw(st.lists(SCORES, min_size=count, max_size=count)), np.float32).reshape(shape)
        tokens = np.array(draw(st.lists(st.integers(0, 5), min_size=count, max_size=count))).reshape(shape)
        if level == 0:
            tree.init(tokens, scores)
        else:
            rows.append(tree.grow(tokens, scores))
    return tree, rows, draw(st.integers(1, topk + (depth - 1) * topk * topk + 3))


def ancestors(parent: list[int], node: int) -> list[int]:
    """The node and its ancestors, root excluded, by the slow way."""
    path = []
    while node > 0:
        path.append(node)
        node = parent[node]
    return path


def cases() -> list[Any]:
    """The golden cases, named by their settings."""
    return [pytest.param(c, id=f"{i}-k{c['topk']}-d{c['depth']}-n{c['max_draft_tokens']}") for i, c in enumerate(CASES)]


def test_all_golden_cases_are_there() -> None:
    """The golden file is complete, so the parametrised test below is not empty."""
    assert len(CASES) == 60


@pytest.mark.parametrize("case", cases())
def test_golden(case: dict[str, Any]) -> None:
    """Ids, masks, draft tokens, positions and retrieve indices are exactly those of a right TokenTree."""
    k = case["topk"]
    tree = TokenTree(k, case["d2t"])
    for i, level in enumerate(case["levels"]):
        indices, scores = np.array(level["indices"]), np.array(level["scores"], np.float32)
        if i == 0:
            tree.init(indices, scores)
        else:
            tree.grow(indices.reshape(-1, k), scores.reshape(-1, k))
        assert tree.get_ids().tolist() == level["ids_after"]
        assert tree.get_mask().astype(int).tolist() == level["mask_after"]
    pruned = tree.finalize(case["sample_token"], case["max_draft_tokens"])
    assert pruned.draft_tokens.tolist() == case["draft_tokens"]
    assert pruned.position_ids.tolist() == case["position_ids"]
    assert pruned.attention_mask.astype(int).tolist() == case["attention_mask"]
    assert [list(path) for path in pruned.retrieve_indices] == case["retrieve_indices"]


@given(grown())
@settings(max_examples=150, deadline=None)
def test_kept_nodes_hang_together(made: tuple[TokenTree, list[np.ndarray], int]) -> None:
    """Whatever the scores, a kept node's parent is kept, and exactly min(n, pool) nodes are."""
    tree, _, n = made
    pruned = tree.finalize(9, n)
    columns = tree.candidates
    kept = np.flatnonzero(columns.kept)
    assert kept.tolist() == pruned.nodes.tolist()
    assert len(kept) == 1 + min(n, len(columns.parent) - 1)
    assert columns.kept[columns.parent[kept[1:]]].all()
    assert (columns.parent[1:] < np.arange(1, len(columns.parent))).all()


@given(grown())
@settings(max_examples=150, deadline=None)
def test_masks_are_ancestor_sets(made: tuple[TokenTree, list[np.ndarray], int]) -> None:
    """A row of the verify mask sees the root, its ancestors and itself, and nothing else."""
    tree, _, n = made
    pruned = tree.finalize(9, n)
    parent = tree.candidates.parent.tolist()
    nodes = pruned.nodes.tolist()
    for row, node in enumerate(nodes):
        seen = {nodes[c] for c in np.flatnonzero(pruned.attention_mask[row])}
        assert seen == {0, *ancestors(parent, node)}
        assert pruned.position_ids[row] == len(seen) - 1
        assert row == 0 or nodes[pruned.parents[row]] == parent[node]


@given(grown())
@settings(max_examples=150, deadline=None)
def test_retrieve_indices_are_the_root_to_leaf_paths(made: tuple[TokenTree, list[np.ndarray], int]) -> None:
    """Each leaf ends exactly one path, and a path steps from parent to child."""
    tree, _, n = made
    pruned = tree.finalize(9, n)
    leaves = set(range(len(pruned.nodes))) - set(pruned.parents.tolist())
    assert [path[-1] for path in pruned.retrieve_indices] == sorted(leaves)
    for path in pruned.retrieve_indices:
        assert path[0] == 0
        assert all(pruned.parents[child] == above for above, child in pairwise(path))


@given(grown())
@settings(max_examples=150, deadline=None)
def test_depth_first_order(made: tuple[TokenTree, list[np.ndarray], int]) -> None:
    """A permutation in which every subtree is one run after its root, and siblings fall in likelihood."""
    tree, _, n = made
    pruned = tree.finalize(9, n)
    order = pruned.depth_first().tolist()
    place = {row: i for i, row in enumerate(order)}
    assert sorted(order) == list(range(len(pruned.nodes)))
    for row in range(len(order)):
        below = [place[r] for r in range(len(order)) if pruned.attention_mask[r, row]]
        assert sorted(below) == list(range(place[row], place[row] + len(below)))
        siblings = [r for r in order if pruned.parents[r] == row]
        assert siblings == sorted(siblings, key=lambda r: (-pruned.cum_logprobs[r], r))


@given(grown())
@settings(max_examples=100, deadline=None)
def test_columns_agree_with_each_other(made: tuple[TokenTree, list[np.ndarray], int]) -> None:
    """Depth, cumulative log-probability and rank follow from parent and logprob; active means: has children."""
    tree, _, _ = made
    c = tree.candidates
    assert (c.parent[0], c.depth[0], c.logprob[0], c.cum_logprob[0], c.rank[0]) == (-1, 0, 0, 0, 0)
    above = c.parent[1:]
    assert (c.depth[1:] == c.depth[above] + 1).all()
    assert (c.cum_logprob[1:] == c.cum_logprob[above] + c.logprob[1:]).all()
    assert (c.cum_logprob[1:] <= c.cum_logprob[above]).all()
    assert np.flatnonzero(c.active).tolist() == sorted(set(above.tolist()))
    for parent in set(above.tolist()):
        family = np.flatnonzero(c.parent == parent)
        assert sorted(c.rank[family].tolist()) == list(range(tree.topk))
        assert family[np.argsort(c.rank[family])].tolist() == sorted(family, key=lambda i: (-c.logprob[i], i))


@given(grown())
@settings(max_examples=100, deadline=None)
def test_kept_set_is_the_documented_order(made: tuple[TokenTree, list[np.ndarray], int]) -> None:
    """Ties are settled by depth, then creation: the kept set is a plain sort's first n, every time."""
    tree, _, n = made
    c = tree.candidates
    order = sorted(range(1, len(c.parent)), key=lambda i: (-c.cum_logprob[i], c.depth[i], i))
    assert tree.finalize(9, n).nodes.tolist() == [0, *sorted(order[:n])]


@given(st.integers(1, 5), st.integers(2, 6), st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_grow_returns_rows_of_the_parents(topk: int, depth: int, seed: int) -> None:
    """Gathering by the returned rows gives each active node its own parent: ids carried along as hidden states."""
    rng = np.random.default_rng(seed)
    tree = TokenTree(topk)
    tree.init(rng.integers(0, 9, topk), -rng.exponential(1, topk))
    hidden = [[token] for token in tree.get_ids().tolist()]
    for level in range(2, depth + 1):
        rows = tree.grow(rng.integers(0, 9, (topk, topk)), -rng.exponential(1, (topk, topk)))
        hidden = [[*hidden[row], token] for row, token in zip(rows.tolist(), tree.get_ids().tolist(), strict=True)]
        mask = tree.get_mask()
        assert mask.shape == (topk, topk * level)
        assert (mask.sum(axis=1) == level).all()
    c = tree.candidates
    newest = np.flatnonzero(c.depth == depth)
    best = newest[np.argsort(-c.cum_logprob[newest], kind="stable")[:topk]]
    assert hidden == [[int(c.token[i]) for i in reversed(ancestors(c.parent.tolist(), b))] for b in best.tolist()]


def test_chain_verifies_in_creation_order() -> None:
    """With topk 1 the depth-first order is the identity, so a chain is verified as plain decoding would run."""
    tree = TokenTree(1)
    tree.init([5], [-0.1])
    for token in (6, 7, 8):
        assert tree.grow([[token]], [[-0.2]]).tolist() == [0]
    pruned = tree.finalize(4, 3)
    assert pruned.depth_first().tolist() == [0, 1, 2, 3]
    assert pruned.draft_tokens.tolist() == [4, 5, 6, 7]


def test_same_token_under_two_parents() -> None:
    """The same word after two different words makes two nodes, each under its own parent."""
    tree = TokenTree(2)
    tree.init([1, 2], [-0.1, -0.2])
    tree.grow([[7, 8], [7, 8]], [[-0.1, -3.0], [-0.1, -3.0]])
    pruned = tree.finalize(0, 4)
    assert pruned.draft_tokens.tolist() == [0, 1, 2, 7, 7]
    assert pruned.parents.tolist() == [-1, 0, 0, 1, 2]
    assert pruned.depth_first().tolist() == [0, 1, 3, 2, 4]


def test_unsorted_scores_are_sorted() -> None:
    """A top-k that returns its values in any order gives the same actives and right ranks."""
    tree = TokenTree(3)
    tree.init([10, 11, 12], [-3.0, -1.0, -2.0])
    assert tree.get_ids().tolist() == [11, 12, 10]
    assert tree.candidates.rank.tolist() == [0, 2, 0, 1]


def test_impossible_candidates_sort_last() -> None:
    """-inf is a legal log-probability: such nodes are kept only when nothing else is left."""
    tree = TokenTree(2)
    tree.init([1, 2], [-math.inf, -1.0])
    tree.grow([[3, 4], [5, 6]], [[-0.5, -math.inf], [-0.5, -0.5]])
    assert tree.get_ids().tolist() == [3, 4]
    assert tree.finalize(0, 2).draft_tokens.tolist() == [0, 2, 3]
    assert tree.finalize(0, 3).draft_tokens.tolist() == [0, 1, 2, 3]


def test_rounding_above_zero_cannot_orphan_a_child() -> None:
    """A log-softmax that rounds to 1e-7 counts as 0: a child never outranks its parent."""
    tree = TokenTree(1)
    tree.init([1], [-1.0])
    tree.grow([[2]], np.array([[1e-7]], np.float32))
    assert tree.finalize(0, 1).draft_tokens.tolist() == [0, 1]
    assert tree.candidates.cum_logprob.tolist() == [0, -1, -1]


@pytest.mark.parametrize("bad", [math.nan, math.inf, 0.5])
def test_scores_that_are_no_log_probabilities_are_refused(bad: float) -> None:
    """NaN out of a broken head must not silently shape a tree."""
    tree = TokenTree(2)
    with pytest.raises(ValueError, match="score of level 1"):
        tree.init([1, 2], [-1.0, bad])
    tree.init([1, 2], [-1.0, -2.0])
    with pytest.raises(ValueError, match="score of level 2"):
        tree.grow([[1, 2], [1, 2]], [[-1.0, -1.0], [bad, -1.0]])


def test_misuse_is_refused() -> None:
    """Wrong shapes, ids outside the draft vocabulary, growing or ending what has not begun: a clear ValueError."""
    with pytest.raises(ValueError, match="topk is 0"):
        TokenTree(0)
    with pytest.raises(ValueError, match="d2t has shape"):
        TokenTree(1, np.zeros((2, 2)))
    tree = TokenTree(2, [0, 10, 20])
    with pytest.raises(ValueError, match="call init"):
        tree.grow([[0, 1], [0, 1]], [[-1, -1], [-1, -1]])
    with pytest.raises(ValueError, match="Cannot keep 3"):
        tree.finalize(1, 3)
    with pytest.raises(ValueError, match=r"both must be \(1, 2\)"):
        tree.init([0, 1, 2], [-1, -1, -1])
    with pytest.raises(ValueError, match="draft vocabulary of 3"):
        tree.init([0, 3], [-1, -1])
    with pytest.raises(ValueError, match="draft vocabulary of 3"):
        tree.init([-1, 0], [-1, -1])
    with pytest.raises(ValueError, match="call init"):
        tree.grow([[0, 1]], [[-1, -1]])
    tree.init([2, 1], [-1, -1])
    assert tree.get_ids().tolist() == [22, 11]
    with pytest.raises(ValueError, match="Cannot keep 0"):
        tree.finalize(1, 0)


def test_one_object_serves_many_rounds() -> None:
    """`init` forgets the round before, also after the pool had to be enlarged; what was handed out stays as it was."""
    tree = TokenTree(2)
    results: list[PrunedTree] = []
    for depth in (12, 1, 12):
        tree.init([1, 2], [-0.1, -0.2])
        for _ in range(depth - 1):
            tree.grow([[1, 2], [1, 2]], [[-0.1, -0.2], [-0.1, -0.2]])
        assert len(tree.candidates.parent) == 1 + 2 + 4 * (depth - 1)
        assert not tree.candidates.kept.any()
        results.append(tree.finalize(3, 100))
    assert len(results[1].nodes) == 3
    for field in ("draft_tokens", "position_ids", "attention_mask", "nodes", "parents", "cum_logprobs"):
        assert np.array_equal(getattr(results[0], field), getattr(results[2], field))


def test_inputs_are_left_alone_and_masks_are_copies() -> None:
    """The caller's arrays are not changed, and changing a returned mask does not change the tree."""
    indices, scores = np.array([1, 2]), np.array([1e-6, -1.0], np.float32)
    tree = TokenTree(2)
    tree.init(indices, scores)
    assert indices.tolist() == [1, 2]
    assert scores[0] > 0
    tree.get_mask()[:] = False
    assert tree.get_mask().astype(int).tolist() == [[1, 0], [0, 1]]
