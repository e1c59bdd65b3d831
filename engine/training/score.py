"""How good a head is on held-out conversations: accuracy at every unrolled step, and τ of a greedy chain.

A row is right at a step when its likeliest draft token is the target's likeliest token. A chain is accepted up to the
first step that is wrong. τ is counted as `bench` counts it, by walking through the replies from round to round: the
mean over all places would be too high, because what is accepted jumps over easy places and the next round begins at a
hard one. (Third head, 44 Spec-Bench replies: 2.00 by the mean over places, 1.86 by walking, 1.86 by `bench`.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

CHAIN = 3  # tokens of the chain that is walked with


@dataclass(slots=True)
class Score:
    """Counts over rows, by step, and over the rounds of a walk."""

    rows: list[int] = field(default_factory=list)  # rows with a prediction at step s
    right: list[int] = field(default_factory=list)  # … predicted rightly
    tokens: int = 0
    rounds: int = 0

    def add(self, step: int, rows: int, right: int) -> None:
        """Count one batch at one step."""
        for counts, count in ((self.rows, rows), (self.right, right)):
            counts.extend([0] * (step + 1 - len(counts)))
            counts[step] += count

    def add_walk(self, tokens: int, rounds: int) -> None:
        """Count a walk through replies."""
        self.tokens += tokens
        self.rounds += rounds

    def join(self, other: Score) -> None:
        """Count what another one counted."""
        for step, (rows, right) in enumerate(zip(other.rows, other.right, strict=True)):
            self.add(step, rows, right)
        self.add_walk(other.tokens, other.rounds)

    @property
    def accuracy(self) -> list[float]:
        """By step."""
        return [r / n if n else 0.0 for r, n in zip(self.right, self.rows, strict=True)]

    @property
    def tau(self) -> float:
        """Tokens per target pass of a chain of `CHAIN` tokens; 1 before any walk."""
        return self.tokens / self.rounds if self.rounds else 1.0

    def __str__(self) -> str:
        return f"accuracy {' / '.join(f'{a:.3f}' for a in self.accuracy)}, chain τ {self.tau:.2f}"


def walk(accepted: NDArray[np.int64], spans: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """(tokens, rounds) of decoding the replies of a conversation, whose first tokens the prompt gives.

    `accepted` [L]: how many tokens behind token t + 1, the root, are drafted rightly; the chain has `CHAIN` of them.
    """
    tokens = rounds = 0
    for first, end in spans:
        root = first
        while root < end - 1:
            step = min(int(accepted[root - 1]) + 1, CHAIN + 1, end - 1 - root)
            root, tokens, rounds = root + step, tokens + step, rounds + 1
    return tokens, rounds
