"""Text not worth learning from: replies that run in circles, and conversations that are nearly there already.

Works on token ids alone. Plain Python.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from hashlib import blake2b

_GRAM = 4
_FEWEST = 64  # tokens; shorter replies are not judged by their variety
_VARIETY = 0.4  # share of different 4-grams below which a reply repeats itself
_SHINGLE = 5
_SKETCH = 16  # smallest hashes that stand for a conversation
_ALIKE = 0.6  # share of them in common with an earlier one


def ends_in_loop(ids: Sequence[int], *, longest: int = 48, times: int = 3, least: int = 24) -> bool:
    """Whether the end is one stretch of at most `longest` tokens, said `times` times and over `least` tokens."""
    for period in range(1, longest + 1):
        reach = max(period * times, least)
        if reach <= len(ids) and all(ids[-i] == ids[-i - period] for i in range(1, reach - period + 1)):
            return True
    return False


def repeats_itself(ids: Sequence[int]) -> bool:
    """Whether a reply says the same again and again, at its end or throughout."""
    if ends_in_loop(ids):
        return True
    grams = [tuple(ids[i : i + _GRAM]) for i in range(len(ids) - _GRAM + 1)]
    return len(ids) >= _FEWEST and len(set(grams)) < _VARIETY * len(grams)


class Seen:
    """Remembers conversations by sketches (bottom-k of their 5-grams) and finds near-duplicates."""

    def __init__(self) -> None:
        self._where: dict[int, list[int]] = {}
        self._count = 0

    def add(self, ids: Sequence[int]) -> bool:
        """Remember `ids` and return True, or False if an earlier one is nearly the same."""
        sketch = _sketch(ids)
        shared = Counter(owner for item in sketch for owner in self._where.get(item, ()))
        if shared and max(shared.values()) >= _ALIKE * len(sketch):
            return False
        for item in sketch:
            self._where.setdefault(item, []).append(self._count)
        self._count += 1
        return True


def _sketch(ids: Sequence[int]) -> list[int]:
    """The smallest hashes of all runs of five tokens; of the whole where it is shorter."""
    runs = {tuple(ids[i : i + _SHINGLE]) for i in range(max(1, len(ids) - _SHINGLE + 1))}
    hashes = (int.from_bytes(blake2b(repr(run).encode(), digest_size=8).digest(), "little") for run in runs)
    return sorted(hashes)[:_SKETCH]
