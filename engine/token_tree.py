"""The draft tree of one round: candidates level by level, pruned to the likeliest, laid out for one verify pass.

The interface is MNN's `TokenTree` (`tokentree.hpp`) in snake case, with two of its faults mended: `grow` returns the
parent rows, and ties keep a parent before its child. Knows scores, ids and masks; nothing of models or caches.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

_FIRST_LEVELS = 6  # levels to make room for before the first reallocation
_ROUNDING = 1e-3  # how far above 0 the rounding of a log-softmax may put a log-probability


class Candidates(NamedTuple):
    """Every candidate of a tree as columns, each [pool+1]; the index is the pool id: root 0, then creation order."""

    parent: Ints  # pool id; -1 for the root
    depth: Ints  # root 0
    rank: Ints  # among its siblings, likeliest 0
    token: Ints  # target vocabulary; the root's is -1 until `finalize`
    logprob: Floats  # given the parent; root 0
    cum_logprob: Floats  # sum along the path from the root
    active: Bools  # was expanded into the next level
    kept: Bools  # among the rows of the last `finalize`, root included


@dataclass(frozen=True)
class PrunedTree:
    """What the target verifies: row 0 is the root (the sampled token), the others are kept nodes in creation order."""

    draft_tokens: Ints  # [n+1] target vocabulary
    position_ids: Ints  # [n+1] depth of each row, root 0: add the root's absolute position
    attention_mask: Bools  # [n+1, n+1] row sees column: itself and its ancestors
    nodes: Ints  # [n+1] pool id of each row, ascending
    parents: Ints  # [n+1] row of each row's parent, -1 for the root
    cum_logprobs: Floats  # [n+1] root 0

    @cached_property
    def retrieve_indices(self) -> tuple[tuple[int, ...], ...]:
        """Every path from the root to a leaf, as rows; paths in the order of their leaves."""
        parents = self.parents.tolist()
        paths: list[tuple[int, ...]] = [(0,)]
        for row in range(1, len(parents)):
            paths.append((*paths[parents[row]], row))
        inner = set(parents)
        return tuple(path for row, path in enumerate(paths) if row not in inner)

    def depth_first(self) -> Ints:
        """Rows in depth-first order, likeliest child first: `order[i]` is the i-th row to verify, a permutation [n+1].

        Every subtree is one run, its root first. A chain gives 0, 1, 2, ...
        """
        parents = self.parents.tolist()
        children: list[list[int]] = [[] for _ in parents]
        for row in reversed((-self.cum_logprobs).argsort(kind="stable").tolist()):
            if row:
                children[parents[row]].append(row)
        order, stack = [], [0]
        while stack:
            row = stack.pop()
            order.append(row)
            stack += children[row]
        return np.array(order, dtype=np.int64)


class TokenTree:
    """Grows by `init` and `grow`, ends by `finalize`; `init` starts over, so one object serves every round.

    After `init` and every `grow`, the `topk` likeliest candidates of the newest level are active: likeliest first,
    ties by creation. Scores are natural log-probabilities; -inf is legal and sorts last; NaN, or a score above 0 by
    more than rounding, is a `ValueError`.
    """

    def __init__(self, topk: int, d2t: ArrayLike | None = None) -> None:
        """`d2t`: [draft vocabulary] offsets, target id = draft id + d2t[draft id]; None where the two are the same."""
        if topk < 1:
            raise ValueError(f"topk is {topk}: a tree needs at least 1 child per node.")
        self.topk = topk
        self._d2t: Ints | None = None if d2t is None else np.array(d2t, dtype=np.int64)
        if self._d2t is not None and self._d2t.ndim != 1:
            raise ValueError(f"d2t has shape {self._d2t.shape}: give one offset per draft token.")
        self._eye = np.eye(topk, dtype=np.bool_)
        self._sorted_ranks = np.tile(np.arange(topk), topk)
        self._size = self._levels = 0
        room = 1 + topk + (_FIRST_LEVELS - 1) * topk * topk
        columns: list[Any] = [np.zeros(room, kind) for kind in (*[np.int64] * 4, *[np.float64] * 2, *[np.bool_] * 2)]
        self._pool = Candidates(*columns)

    @property
    def candidates(self) -> Candidates:
        """The columns so far. Views: they change with the next call."""
        columns: list[Any] = [column[: self._size] for column in self._pool]
        return Candidates(*columns)

    def init(self, indices: ArrayLike, scores: ArrayLike) -> None:
        """Start over with the root's children: draft ids and log-probabilities, both [topk]."""
        self._size, self._levels = 1, 0
        for column in self._pool:
            column[0] = 0
        self._pool.parent[0] = self._pool.token[0] = -1
        self._frontier: Ints = np.zeros(1, dtype=np.int64)  # [active] pool ids
        self._mask: Bools = np.empty((1, 0), dtype=np.bool_)  # [active, rows so far]
        self._add(np.asarray(indices)[None], np.asarray(scores)[None])

    def grow(self, indices: ArrayLike, scores: ArrayLike) -> Ints:
        """Add `topk` children under each active node: draft ids and log-probabilities, both [active, topk].

        Returns, for each new active node, its parent's row among the previous active nodes, [active]: gather the
        hidden states of the next draft level by it.
        """
        if self._size < 2:
            raise ValueError("This tree has no first level yet: call init before grow.")
        return self._add(np.asarray(indices), np.asarray(scores))

    def _add(self, indices: NDArray[Any], scores: NDArray[Any]) -> Ints:
        """`grow`, for the root as well."""
        tokens, scores = self._checked(indices, scores)
        start, end, k = self._size, self._size + scores.size, self.topk
        if end > len(self._pool.parent):
            columns: list[Any] = [np.concatenate((column, np.zeros_like(column))) for column in self._pool]
            self._pool = Candidates(*columns)
        pool, new = self._pool, slice(start, end)
        cum = (pool.cum_logprob[self._frontier][:, None] + scores).ravel()
        pool.parent[new] = self._frontier.repeat(k)
        pool.depth[new] = self._levels + 1
        pool.rank[new] = self._ranks(scores)
        pool.token[new] = tokens.ravel()
        pool.logprob[new] = scores.ravel()
        pool.cum_logprob[new] = cum
        pool.active[new] = False
        pool.kept[new] = False
        pool.active[self._frontier] = True
        best: Ints = (-cum).argsort(kind="stable")[:k]
        rows = best // k
        self._frontier = best + start
        self._mask = np.concatenate((self._mask[rows], self._eye), axis=1)
        self._size, self._levels = end, self._levels + 1
        return rows

    def _checked(self, indices: NDArray[Any], scores: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Target ids and scores, both [active, topk], or a `ValueError`."""
        shape, level = (len(self._frontier), self.topk), self._levels + 1
        if indices.shape != shape or scores.shape != shape:
            raise ValueError(f"Level {level} has ids {indices.shape} and scores {scores.shape}: both must be {shape}.")
        top = float(scores.max())
        if not top <= _ROUNDING:
            raise ValueError(f"A score of level {level} is {top:g}: scores are log-probabilities, at most 0.")
        if top > 0:
            scores = np.minimum(scores, 0)
        if self._d2t is None:
            return indices, scores
        if indices.min() < 0 or indices.max() >= len(self._d2t):
            raise ValueError(f"A draft id of level {level} is not in the draft vocabulary of {len(self._d2t)} tokens.")
        return indices + self._d2t[indices], scores

    def _ranks(self, scores: NDArray[Any]) -> NDArray[np.intp]:
        """Rank of each score within its row, flat; rows that come from a top-k are sorted already."""
        if (scores[:, 1:] <= scores[:, :-1]).all():
            return self._sorted_ranks[: scores.size]
        return (-scores).argsort(axis=1, kind="stable").argsort(axis=1).ravel()

    def get_ids(self) -> Ints:
        """Target-vocabulary ids of the active nodes, [active]."""
        return self._pool.token[self._frontier]

    def get_mask(self) -> Bools:
        """Which tree rows each active node sees (itself and its ancestors), [active, tree rows so far].

        Columns are the active nodes of every level in the order they were handed out; the root is not among them.
        """
        return self._mask.copy()

    @property
    def best(self) -> float:
        """Log-probability of the likeliest path to an active node."""
        return float(self._pool.cum_logprob[self._frontier[0]])

    def finalize(self, sample_token: int, max_draft_tokens: int, least: float = -math.inf) -> PrunedTree:
        """Keep the `max_draft_tokens` likeliest candidates (all, if there are fewer) under the root `sample_token`.

        Of those only paths with a log-probability of `least` or more, but the likeliest candidate always. Order:
        (-cumulative log-probability, depth, creation), so a kept node's ancestors are always kept. The tree may still
        be grown, or finalized with another number.
        """
        return prune(self.candidates, sample_token, max_draft_tokens, least)


def prune(pool: Candidates, sample_token: int, max_draft_tokens: int, least: float = -math.inf) -> PrunedTree:
    """`TokenTree.finalize` of a pool in level order, in which it marks the nodes that are kept."""
    size = len(pool.parent)
    if max_draft_tokens < 1 or size < 2:
        raise ValueError(f"Cannot keep {max_draft_tokens} of {max(0, size - 1)} candidates: at least 1.")
    best = (-pool.cum_logprob[1:]).argsort(kind="stable")[:max_draft_tokens]
    best = best[: max(1, int((pool.cum_logprob[best + 1] >= least).sum()))]
    best.sort()  # creation order is depth order as well, so a stable sort by score was all the tie-breaking
    nodes = np.zeros(len(best) + 1, dtype=np.int64)
    nodes[1:] = best + 1
    pool.token[0] = sample_token
    pool.kept[:] = False
    pool.kept[nodes] = True
    depths = pool.depth[nodes]
    parents = nodes.searchsorted(pool.parent[nodes])
    parents[0] = -1
    mask = _ancestor_mask(parents, depths)
    return PrunedTree(pool.token[nodes], depths, mask, nodes, parents, pool.cum_logprob[nodes])


def _ancestor_mask(parents: Ints, depths: Ints) -> Bools:
    """[n+1, n+1] itself and ancestors, level by level; rows of one depth are consecutive."""
    mask = np.eye(len(parents), dtype=np.bool_)
    for start, end in pairwise(np.bincount(depths).cumsum().tolist()):
        mask[start:end] |= mask[parents[start:end]]
    return mask
