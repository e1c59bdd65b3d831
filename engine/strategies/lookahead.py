"""Drafting by looking up: what followed the last tokens earlier in the conversation, or in a file, may follow again.

MNN's `lookahead`, with its keys and rules (engine/ngram.py); no draft head, no pass. Knows the text; never the target.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engine.config import EngineConfig
from engine.lookup_file import LookupFile
from engine.ngram import RULES, Continuation, followers, merge
from engine.ragged_tree import RaggedTree
from engine.strategies.base import Floats, Proposal
from engine.token_text import TokenText
from engine.token_tree import Candidates

# After these nearly anything may follow, so a draft must be as sure as strictness "high" asks for (MNN).
_CONFUSING = (",", ".", ":", ";", "、", "，", "。", "：", "；")


class Lookahead:
    """Keeps the text as tokens, and proposes what followed its end before.

    Up to `eagle_topk` continuations per token, and a chain of up to `draft_predict_length` tokens behind the
    likeliest; of all those the `draft_predict_length` likeliest are verified. So `eagle_topk` 1 is MNN's chain.

    A continuation's probability is its share of the rule's weights, with a weight of 1 for "a token not seen there":
    an estimate from counts, never 1.
    """

    name = "lookahead"

    def __init__(self, folder: Path, encode: Callable[[str], list[int]]) -> None:
        self._file = LookupFile(folder, encode)
        pieces = [encode(text) for text in _CONFUSING]
        self._confusing = {piece[0] for piece in pieces if len(piece) == 1}
        self._text = TokenText()
        self._prompt = 0  # of those, the prompt of this turn

    @property
    def length(self) -> int:
        """Tokens known."""
        return self._text.length

    def begin(self, prompt: list[int], config: EngineConfig) -> None:
        """The text so far; see `Strategy.begin`."""
        self._text.truncate(0)
        self._text.put(0, prompt)
        self._prompt = len(prompt)
        if config.speculative_type == self.name:
            self._file.tokens(config.lookup_file)

    def extend(self, position: int, hidden: Floats, tokens: list[int], next_tokens: list[int]) -> None:
        """More text; see `Strategy.extend`."""
        self._text.put(position, [*tokens, next_tokens[-1]])

    def truncate(self, length: int) -> None:
        """Forget tokens from `length` on."""
        self._text.truncate(length)

    def draft(
        self, root: int, position: int, config: EngineConfig, max_depth: int, max_nodes: int
    ) -> Generator[Candidates, None, Proposal | None]:
        """Look up what may follow `root`; see `Strategy.draft`."""
        depth, nodes = (min(config.draft_predict_length, most) for most in (max_depth, max_nodes))
        if depth < 1 or nodes < 1 or position >= self._text.length or self._text.tokens[position] != root:
            return None
        learnt = position + 1 if config.ngram_update else self._prompt
        texts = [self._text.tokens[:learnt], self._file.tokens(config.lookup_file)]
        context = self._text.tokens[max(0, position + 1 - config.ngram_match_maxlen) : position + 1].tolist()
        search = _Search(texts, context, config)
        first = search(())
        if not first or not self._is_sure(first[0], root, config):
            return None
        tree = RaggedTree()
        tree.add(0, _children(first, config.eagle_topk))
        yield tree.candidates
        for level in range(1, depth):
            active = tree.likeliest(nodes, level)[: config.eagle_topk]
            growing = [(node, found) for node in active if (found := search(tree.path(node)))]
            if not growing:
                break
            for node, found in growing:
                tree.add(node, _children(found, config.eagle_topk))
            yield tree.candidates
        rows = tree.finalize(root, nodes, config.least_logprob)
        return Proposal(tree.candidates, rows, "ngram")

    def _is_sure(self, first: Continuation, root: int, config: EngineConfig) -> bool:
        """Whether to draft at all. As in MNN, `fcfs` never asks, and nothing asks again after the first token."""
        if config.draft_selection_rule == "fcfs":
            return True
        return first.is_sure("high" if root in self._confusing else config.draft_match_strictness)

    def stop(self) -> None:
        """Nothing runs."""

    def resume(self) -> None:
        """Nothing was stopped."""


class _Search:
    """Continuations of a context and a few drafted tokens, in several texts, by the rule of `config`."""

    def __init__(self, texts: list[NDArray[np.int32]], context: list[int], config: EngineConfig) -> None:
        self._texts = [text for text in texts if len(text) > 1]
        self._context = context
        self._longest = config.ngram_match_maxlen
        self._rule = RULES[config.draft_selection_rule]

    def __call__(self, drafted: Sequence[int]) -> list[Continuation]:
        """What followed the context and `drafted`, first choice first."""
        context = [*self._context, *drafted][-self._longest :]
        found: list[dict[int, int]] = []
        for text in self._texts:
            found = merge(found, followers(text, context, self._longest))
        return self._rule(found)


def _children(found: list[Continuation], most: int) -> list[tuple[int, float]]:
    """The first `most` continuations as (token, log-probability), likeliest first."""
    total = 1 + sum(c.weight for c in found)
    chosen = sorted(found[:most], key=lambda c: -c.weight)
    return [(c.token, math.log(c.weight / total)) for c in chosen]
