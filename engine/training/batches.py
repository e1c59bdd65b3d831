"""Which conversations are trained on together, in which order, and what each row of a batch has to predict.

A pure function of the data, the seed and the step number: that is what makes a killed run continue exactly. numpy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.training.conversations import Conversation, DataSet

Ints = NDArray[np.int64]
_BUCKETS = 16  # batches whose conversations are sorted by length together


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Conversations padded at the end to one length."""

    which: tuple[int, ...]  # conversations of the data set
    ids: Ints  # [B, L]
    steps_left: Ints  # [B, L] for how many unrolled steps row t has a token of the reply to predict


def split(data: DataSet, share: float, first: int = 0) -> tuple[Ints, Ints]:
    """(training, held-out) conversations. Which are held out depends on their own ids alone, so it stays when data is
    added; none before number `first`, for heads that were trained on those."""
    keys = np.array([data[i].key() % 10_000 for i in range(len(data))], np.int64)
    held = (keys < share * 10_000) & (np.arange(len(data)) >= first)
    return np.flatnonzero(~held), np.flatnonzero(held)


def steps_left(conversation: Conversation) -> Ints:
    """[L] row t predicts tokens t + 2, t + 3, …: those that lie in the reply that holds token t + 1."""
    left = np.zeros(len(conversation.ids), np.int64)
    for first, end in conversation.spans:
        rows = np.arange(max(first - 1, 0), end - 2)
        left[rows] = end - 2 - rows
    return left


def epoch(data: DataSet, which: Ints, tokens: int, seed: int, number: int) -> list[Ints]:
    """The batches of one pass, as conversations of similar length of together at most `tokens` padded tokens."""
    rng = np.random.default_rng([seed, number])
    order = rng.permutation(which)
    lengths = data.lengths
    per_group = max(1, _BUCKETS * tokens // max(1, int(lengths[which].mean())))
    batches: list[Ints] = []
    for start in range(0, len(order), per_group):
        group = order[start : start + per_group]
        batches += _pack(group[np.argsort(lengths[group], kind="stable")], lengths, tokens)
    return [rng.permutation(batches[i]) for i in rng.permutation(len(batches))]


def in_order(data: DataSet, which: Ints, tokens: int) -> list[Ints]:
    """All of them once, shortest first: for evaluation."""
    lengths = data.lengths
    return _pack(which[np.argsort(lengths[which], kind="stable")], lengths, tokens)


def make_batch(data: DataSet, which: Sequence[int] | Ints) -> Batch:
    """Pad some conversations to one length."""
    items = [data[int(i)] for i in which]
    shape = (len(items), max(len(item.ids) for item in items))
    ids, left = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    for row, item in enumerate(items):
        ids[row, : len(item.ids)] = item.ids
        left[row, : len(item.ids)] = steps_left(item)
    return Batch(tuple(int(i) for i in which), ids, left)


def _pack(ordered: Ints, lengths: Ints, tokens: int) -> list[Ints]:
    """Cut conversations sorted by length into batches of at most `tokens` padded tokens, at least one each."""
    out: list[Ints] = []
    start = 0
    for i in range(1, len(ordered) + 1):
        if i == len(ordered) or (i + 1 - start) * lengths[ordered[i]] > tokens:
            out.append(ordered[start:i])
            start = i
    return out
