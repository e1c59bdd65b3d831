"""EAGLE-3 drafting (arXiv 2503.01840): a tree grown level by level from the target's own hidden states.

Level 1 comes from the last committed row; each further level feeds the likeliest nodes with the hidden state of
their own parents. Knows the draft head and the token tree; the target never runs here.
"""

from __future__ import annotations

import math
from collections.abc import Generator

import numpy as np

from engine.config import EngineConfig
from engine.draft_head import DraftHead, DraftPass
from engine.strategies.base import Floats, Proposal
from engine.token_tree import Candidates, TokenTree

_CHUNK = 128
# A level is worth its pass where its likeliest parent is this many times as likely as a node must be to be verified:
# of 2 to 8 the fastest on the bench's prompts, by little (docs/log.md).
_WORTH = math.log(4)


class Eagle:
    """Keeps the head's cache in step with the text, and drafts.

    Rows learnt by `extend` wait in `_waiting` until a draft needs them, so a turn decoded plainly costs no draft pass
    and the strategy can change between rounds.
    """

    name = "eagle"

    def __init__(self, head: DraftHead) -> None:
        self._head = head
        self._trees: dict[int, TokenTree] = {}
        self._waiting: list[tuple[Floats, list[int]]] = []  # (streams [L, width], next tokens [L])

    @property
    def length(self) -> int:
        """Positions with a row in the head's cache or waiting for one."""
        return self._head.cache.length + sum(len(tokens) for _, tokens in self._waiting)

    def begin(self, prompt: list[int], config: EngineConfig) -> None:
        """Nothing to prepare: rows reused by the target are still in the head's cache."""

    def extend(self, position: int, hidden: Floats, tokens: list[int], next_tokens: list[int]) -> None:
        """Remember streams and following tokens; see `Strategy.extend`."""
        self.truncate(position)
        if position != self.length:
            raise ValueError(f"draft rows end at {self.length}, text continues at {position}")
        self._waiting.append((hidden[:, self._head.streams].copy(), next_tokens))

    def truncate(self, length: int) -> None:
        """Forget rows from `length` on."""
        while self._waiting and self.length > length:
            hidden, tokens = self._waiting.pop()
            keep = length - self.length
            if keep > 0:
                self._waiting.append((hidden[:keep], tokens[:keep]))
        if self._head.cache.length > length:
            self._head.cache.truncate(length)

    def draft(
        self, root: int, position: int, config: EngineConfig, max_depth: int, max_nodes: int
    ) -> Generator[Candidates, None, Proposal | None]:
        """Grow a tree under `root`; see `Strategy.draft`.

        A pair (hidden of token t, embedding of token t + 1) sits at rotary position t, so nodes of level l, which
        stand at text position `position` + l, are fed at `position` + l - 1.
        """
        topk, depth = self._shape(config)
        fit = (self._head.cache.capacity - position) // topk  # levels behind the first whose rows the cache can hold
        depth = min(depth, max_depth, 1 + fit)
        if depth < 1 or max_nodes < 1 or not self._waiting or self._waiting[-1][1][-1] != root:
            return None
        head, tree = self._head, self._tree(topk)
        out = self._catch_up(topk)
        tree.init(out.ids[0], out.scores[0])
        yield tree.candidates
        hidden = np.repeat(out.hidden, topk, axis=0)  # [topk, hidden]: every level-1 node's parent is the last row
        least = config.least_logprob
        for level in range(1, depth):
            if tree.best < least + _WORTH:
                break
            mask = tree.get_mask()  # [topk, level · topk]
            positions = np.full(topk, position + level - 1, np.int64)
            ahead = (level - 1) * topk
            out = head.forward(tree.get_ids(), hidden, positions, topk, ahead=ahead, sees=mask)
            hidden = out.hidden[tree.grow(out.ids, out.scores)]  # [topk, hidden] of each new node's own parent
            yield tree.candidates
        rows = tree.finalize(root, min(config.draft_predict_length, max_nodes), least)
        return Proposal(tree.candidates, rows, "head")

    def _shape(self, config: EngineConfig) -> tuple[int, int]:
        """Children per node, and levels."""
        return config.eagle_topk, config.eagle_depth

    def _catch_up(self, topk: int) -> DraftPass:
        """Run the head over everything that waits; the last row's children start the tree."""
        hidden = self._waiting[0][0] if len(self._waiting) == 1 else np.concatenate([h for h, _ in self._waiting])
        tokens = np.array([t for _, tokens in self._waiting for t in tokens], np.int64)
        head = self._head
        for start in range(0, len(tokens), _CHUNK):
            chunk = slice(start, start + _CHUNK)
            fused = head.fuse(hidden[chunk])
            positions = np.arange(head.cache.length, head.cache.length + len(fused), dtype=np.int64)
            out = head.forward(tokens[chunk], fused, positions, topk, last_only=True)
            head.cache.advance(len(fused))
            self._waiting = [(hidden[start + len(fused) :], tokens[start + len(fused) :].tolist())]
        self._waiting = []
        return out

    def _tree(self, topk: int) -> TokenTree:
        if topk not in self._trees:
            self._trees[topk] = TokenTree(topk, self._head.d2t)
        return self._trees[topk]

    def stop(self) -> None:
        """End a pass in progress."""
        self._head.stop()

    def resume(self) -> None:
        """Allow passes again."""
        self._head.resume()
