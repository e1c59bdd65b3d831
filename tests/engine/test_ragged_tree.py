"""A tree with any number of children: the same promises as `TokenTree`."""

from __future__ import annotations

import numpy as np
import pytest

from engine.ragged_tree import RaggedTree
from engine.token_tree import TokenTree


def test_it_equals_token_tree_where_all_have_as_many_children() -> None:
    """One pruning, one order: whatever reads candidates and rows sees no difference."""
    rng = np.random.default_rng(0)
    full, ragged = TokenTree(2), RaggedTree()
    for level in range(3):
        active = 1 if level == 0 else 2
        scores = -np.sort(rng.exponential(size=(active, 2)), axis=1)
        ids = rng.permutation(100)[: 2 * active].reshape(active, 2)
        if level == 0:
            full.init(ids[0], scores[0])
            frontier = [0]
        else:
            full.grow(ids, scores)
        for node, row, score in zip(frontier, ids.tolist(), scores.tolist(), strict=True):
            ragged.add(node, list(zip(row, score, strict=True)))
        new = range(len(full.candidates.parent) - ids.size, len(full.candidates.parent))
        frontier = sorted(new, key=lambda i: -full.candidates.cum_logprob[i])[:2]
    rows = full.finalize(7, 5)
    pruned = ragged.finalize(7, 5)
    for found, wanted in zip(ragged.candidates, full.candidates, strict=True):
        np.testing.assert_allclose(found, wanted)
    for name in ("draft_tokens", "position_ids", "attention_mask", "nodes", "parents"):
        np.testing.assert_array_equal(getattr(pruned, name), getattr(rows, name))


def test_nodes_without_children_end_there() -> None:
    """A chain of two and a leaf beside it, by hand."""
    tree = RaggedTree()
    tree.add(0, [(10, -0.1), (11, -3.0)])
    tree.add(1, [(12, -0.2)])
    assert tree.path(0) == []
    assert tree.path(3) == [10, 12]
    assert tree.likeliest(3, 1) == [1, 2]
    assert tree.likeliest(2, 1) == [1]
    assert tree.likeliest(2, 2) == [3]
    rows, pool = tree.finalize(9, 2), tree.candidates
    assert rows.draft_tokens.tolist() == [9, 10, 12]
    assert rows.nodes.tolist() == [0, 1, 3]
    assert rows.parents.tolist() == [-1, 0, 1]
    assert pool.rank.tolist() == [0, 0, 1, 0]
    assert pool.active.tolist() == [True, True, False, False]
    assert pool.kept.tolist() == [True, True, False, True]


def test_it_grows_beyond_its_first_room() -> None:
    """What was added before a reallocation stays."""
    tree = RaggedTree()
    for node in range(100):
        tree.add(node, [(node, -0.5), (1000 + node, -9.0)] if node == 0 else [(node, -0.5)])
    assert len(tree.candidates.parent) == 102
    assert tree.path(100)[:2] == [1000, 2]
    assert tree.candidates.cum_logprob[0] == 0


def test_a_root_alone_cannot_be_verified() -> None:
    """There is nothing to draft: the caller decodes plainly."""
    with pytest.raises(ValueError, match="at least 1"):
        RaggedTree().finalize(9, 2)
