"""Columns of numbers over the rounds of a turn, extended as rounds are appended. Knows no widget.

Counts follow `engine.TurnStats`; a test holds them together.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from app.tree.copied import copied_tokens
from engine import Round, Turn

WINDOW = 8  # rounds of the running mean
TIME_PARTS = ("draft", "verify", "commit", "host")


class Column:
    """A growing array of float64."""

    def __init__(self) -> None:
        self._data = np.empty(64)
        self._count = 0

    def append(self, value: float) -> None:
        """Add one."""
        if self._count == len(self._data):
            self._data = np.resize(self._data, 2 * self._count)
        self._data[self._count] = value
        self._count += 1

    @property
    def values(self) -> NDArray[np.float64]:
        """All so far, [n]; a view."""
        return self._data[: self._count]


class RoundSeries:
    """Per round: emitted tokens, those of them that are copied text, milliseconds by part. Per turn: how often each
    depth and rank was accepted."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forget the turn."""
        self._turn: Turn | None = None
        self.count = 0
        self.emitted, self.copied, self.total = Column(), Column(), Column()
        self.times = {part: Column() for part in TIME_PARTS}
        self.reached_by_depth: Counter[int] = Counter()
        self.accepted_by_depth: Counter[int] = Counter()
        self.accepted_by_rank: Counter[int] = Counter()

    @property
    def turn(self) -> Turn | None:
        """The turn that the numbers are of."""
        return self._turn

    def update(self, turn: Turn | None) -> bool:
        """Take in what is new; True when anything changed."""
        if turn is not self._turn or (turn is not None and len(turn.rounds) < self.count):
            self.clear()
            self._turn = turn
            changed = True
        else:
            changed = turn is not None and len(turn.rounds) > self.count
        for shown in turn.rounds[self.count :] if turn else ():
            self._add(shown)
        return changed

    def _add(self, shown: Round) -> None:
        self.count += 1
        self.emitted.append(len(shown.emitted))
        self.copied.append(sum(copied_tokens(shown)))
        self.total.append(shown.timings.total)
        for part in TIME_PARTS:
            self.times[part].append(getattr(shown.timings, part))
        for i in shown.accepted:
            self.accepted_by_depth[shown.nodes[i].depth] += 1
            self.accepted_by_rank[shown.nodes[i].rank] += 1
        if not shown.corrected:
            self.reached_by_depth.update(
                {n.depth for n in shown.nodes[1:] if n.kept and shown.nodes[n.parent].accepted}
            )

    @property
    def tau(self) -> float:
        """Acceptance length of the turn; nan without rounds."""
        return float(self.emitted.values.mean()) if self.count else float("nan")

    def mean_emitted(self) -> NDArray[np.float64]:
        """Running mean of emitted tokens over the last WINDOW rounds, [n]."""
        return _moving(self.emitted.values, np.ones(self.count))

    def speed(self) -> NDArray[np.float64]:
        """Tokens per second of each round, [n]; 0 where a round took no time."""
        total = self.total.values
        return np.divide(1000 * self.emitted.values, total, out=np.zeros_like(total), where=total > 0)

    def mean_speed(self) -> NDArray[np.float64]:
        """Tokens per second over the last WINDOW rounds, [n]."""
        return 1000 * _moving(self.emitted.values, self.total.values)


def _moving(top: NDArray[np.float64], bottom: NDArray[np.float64]) -> NDArray[np.float64]:
    """sum(top) / sum(bottom) over the last WINDOW entries, fewer at the start; [n]."""
    sums = [np.concatenate([[0.0], np.cumsum(x)]) for x in (top, bottom)]
    starts = np.maximum(np.arange(len(top)) + 1 - WINDOW, 0)
    a, b = (s[1:] - s[starts] for s in sums)
    return np.divide(a, b, out=np.zeros_like(a), where=b > 0)
