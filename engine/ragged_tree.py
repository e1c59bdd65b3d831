"""A draft tree whose nodes have as many children as are known, none included; `TokenTree` has `topk` each.

Knows scores and ids; nothing of where they come from.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from engine.token_tree import Candidates, PrunedTree, prune

_ROOM = 64  # nodes before the first reallocation


class RaggedTree:
    """Children are added level by level, so ids count in level order, as everywhere. Node 0 is the root."""

    def __init__(self) -> None:
        columns: list[Any] = [np.zeros(_ROOM, kind) for kind in (*[np.int64] * 4, *[np.float64] * 2, *[np.bool_] * 2)]
        self._pool = Candidates(*columns)
        self._pool.parent[0] = self._pool.token[0] = -1
        self._size = 1

    def add(self, parent: int, children: Sequence[tuple[int, float]]) -> int:
        """Expand node `parent` by (token, log-probability given the parent), likeliest first; the first one's id."""
        start, end = self._size, self._size + len(children)
        while end > len(self._pool.parent):
            columns: list[Any] = [np.concatenate((column, np.zeros_like(column))) for column in self._pool]
            self._pool = Candidates(*columns)
        pool, new = self._pool, slice(start, end)
        pool.active[parent] = True
        pool.parent[new] = parent
        pool.depth[new] = pool.depth[parent] + 1
        pool.rank[new] = range(len(children))
        pool.token[new] = [token for token, _ in children]
        pool.logprob[new] = [logprob for _, logprob in children]
        pool.cum_logprob[new] = pool.logprob[new] + pool.cum_logprob[parent]
        self._size = end
        return start

    def likeliest(self, count: int, depth: int) -> list[int]:
        """Those of the `count` likeliest nodes of the tree that lie at `depth`, likeliest first."""
        best = (-self._pool.cum_logprob[1 : self._size]).argsort(kind="stable")[:count] + 1
        found: list[int] = best[self._pool.depth[best] == depth].tolist()
        return found

    def path(self, node: int) -> list[int]:
        """Tokens from the root's child down to `node`; none for the root."""
        tokens: list[int] = []
        while node:
            tokens.append(int(self._pool.token[node]))
            node = int(self._pool.parent[node])
        return tokens[::-1]

    @property
    def candidates(self) -> Candidates:
        """The columns so far. Views: they change with the next call."""
        columns: list[Any] = [column[: self._size] for column in self._pool]
        return Candidates(*columns)

    def finalize(self, sample_token: int, max_draft_tokens: int, least: float = -math.inf) -> PrunedTree:
        """The `max_draft_tokens` likeliest nodes under the root `sample_token`; see `TokenTree.finalize`."""
        return prune(self.candidates, sample_token, max_draft_tokens, least)


def graft(pool: Candidates, chain: Sequence[tuple[int, float]]) -> RaggedTree:
    """The tree of `pool` with `chain`, (token, log-probability given the parent), under its root.

    Where a token of the chain is there already, the higher of the two log-probabilities counts.
    """
    children: list[list[int]] = [[] for _ in pool.parent]
    for i, parent in enumerate(pool.parent.tolist()[1:], start=1):
        children[parent].append(i)
    tokens, logprobs = pool.token.tolist(), pool.logprob.tolist()
    tree, level = RaggedTree(), [(0, 0, True)]  # node, node of the pool or -1, whether the chain leads there
    links = iter(chain)
    while level:
        below, link = [], next(links, None)
        for node, source, follows in level:
            found = {tokens[i]: (logprobs[i], i) for i in children[source]} if source >= 0 else {}
            copied = link[0] if link is not None and follows else None
            if link is not None and follows:
                known, i = found.get(link[0], (-math.inf, -1))
                found[link[0]] = (max(known, link[1]), i)
            ranked = sorted(found.items(), key=lambda item: -item[1][0])
            if ranked:
                first = tree.add(node, [(token, logprob) for token, (logprob, _) in ranked])
                below += [(first + k, i, token == copied) for k, (token, (_, i)) in enumerate(ranked)]
        level = below
    return tree
