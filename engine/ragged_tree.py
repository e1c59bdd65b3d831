"""A draft tree whose nodes have as many children as are known, none included; `TokenTree` has `topk` each.

Knows scores and ids; nothing of where they come from.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from engine.token_tree import Candidates, PrunedTree, prune


class RaggedTree:
    """Children are added level by level, so ids count in level order, as everywhere. Node 0 is the root."""

    def __init__(self) -> None:
        self._parent, self._depth, self._rank, self._token = [-1], [0], [0], [-1]
        self._logprob, self._cum, self._active = [0.0], [0.0], [False]

    def add(self, parent: int, children: Iterable[tuple[int, float]]) -> None:
        """Expand node `parent` by (token, log-probability given the parent), likeliest first."""
        self._active[parent] = True
        for rank, (token, logprob) in enumerate(children):
            self._parent.append(parent)
            self._depth.append(self._depth[parent] + 1)
            self._rank.append(rank)
            self._token.append(token)
            self._logprob.append(logprob)
            self._cum.append(self._cum[parent] + logprob)
            self._active.append(False)

    def likeliest(self, count: int, depth: int) -> list[int]:
        """Those of the `count` likeliest nodes of the tree that lie at `depth`, likeliest first."""
        best = sorted(range(1, len(self._cum)), key=lambda i: -self._cum[i])[:count]
        return [i for i in best if self._depth[i] == depth]

    def path(self, node: int) -> list[int]:
        """Tokens from the root's child down to `node`; none for the root."""
        tokens: list[int] = []
        while node:
            tokens.append(self._token[node])
            node = self._parent[node]
        return tokens[::-1]

    @property
    def candidates(self) -> Candidates:
        """The columns so far, copied."""
        parent, depth, rank, token = (
            np.array(column, np.int64) for column in (self._parent, self._depth, self._rank, self._token)
        )
        logprob, cum = (np.array(column, np.float64) for column in (self._logprob, self._cum))
        active = np.array(self._active, np.bool_)
        return Candidates(parent, depth, rank, token, logprob, cum, active, np.zeros_like(active))

    def finalize(self, sample_token: int, max_draft_tokens: int) -> tuple[Candidates, PrunedTree]:
        """All candidates, and the `max_draft_tokens` likeliest of them under the root; see `TokenTree.finalize`."""
        pool = self.candidates
        rows = prune(pool, sample_token, max_draft_tokens)
        return pool, rows
