"""What followed the last few tokens before, and which continuation to draft: the rules of MNN's lookahead.

Nothing is indexed: a scan of a whole context takes microseconds, never goes out of date and has nothing to undo.
Knows token ids; nothing of trees, models or files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Tokens = NDArray[np.int32]
Counts = dict[int, int]  # token → occurrences, in the order they were first seen

# Least share of its key's occurrences, in percent, by key length 1 to 8 (MNN `ngram.hpp`).
SHARES: Mapping[str, tuple[int, ...]] = {
    "low": (0,) * 8,
    "medium": (60, 50, 50, 40, 40, 40, 40, 40),
    "high": (90, 80, 70, 60, 50, 50, 50, 50),
}
MOST = 256  # occurrences of a key that are counted, the first ones; it bounds the time for a common token


class Continuation(NamedTuple):
    """A token that followed a key, the last `length` tokens of the context."""

    token: int
    weight: int  # what the rule counts
    length: int
    share: float  # of the occurrences of that key

    def is_sure(self, strictness: str) -> bool:
        """Whether its share is what that `draft_match_strictness` asks for."""
        return 100 * self.share >= SHARES[strictness][self.length - 1]


def followers(text: Tokens, context: Sequence[int], longest: int) -> list[Counts]:
    """Count what followed the last 1, 2, ... `longest` tokens of `context` [C] in `text` [N].

    Ends before the first key that nothing followed. At most `MOST` occurrences of a key are counted.
    """
    found: list[Counts] = []
    at = np.flatnonzero(text[:-1] == context[-1]) + 1  # where the following token stands
    for length in range(1, min(longest, len(context)) + 1):
        if length > 1:
            while len(at) and at[0] < length:  # too near the beginning for a key of this length
                at = at[1:]
            at = at[text[at - length] == context[-length]]
        if len(at) == 0:
            break
        counts: Counts = {}
        for token in text[at[:MOST]].tolist():
            counts[token] = counts.get(token, 0) + 1
        found.append(counts)
    return found


def merge(first: list[Counts], second: list[Counts]) -> list[Counts]:
    """Counts over two texts; what the first one holds was seen earlier."""
    if not first or not second:
        return first or second
    merged = [dict(counts) for counts in first] + [Counts() for _ in second[len(first) :]]
    for total, counts in zip(merged, second, strict=False):
        for token, count in counts.items():
            total[token] = total.get(token, 0) + count
    return merged


def freqxlen(found: list[Counts]) -> list[Continuation]:
    """Occurrences times key length: a token's best score over all keys, the longer key first where two are equal."""
    best: dict[int, Continuation] = {}
    for length in range(len(found), 0, -1):
        counts = found[length - 1]
        total = sum(counts.values())
        for token, count in counts.items():
            known = best.get(token)
            if known is None or count * length > known.weight:
                best[token] = Continuation(token, count * length, length, count / total)
    return sorted(best.values(), key=lambda c: (-c.weight, -c.length))


def fcfs(found: list[Counts]) -> list[Continuation]:
    """First come, first served: what followed the longest key, in the order it was first seen."""
    if not found:
        return []
    total = sum(found[-1].values())
    return [Continuation(token, count, len(found), count / total) for token, count in found[-1].items()]


RULES = {"freqxlen": freqxlen, "fcfs": fcfs}
