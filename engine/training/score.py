"""How good a head is on held-out conversations: accuracy at every unrolled step, and the chain length it predicts.

A row is right at a step when its likeliest draft token is the target's likeliest token. A chain of depth d starts
where steps 0…d-1 of one row are all right, which is when greedy decoding would accept them; τ counts the token that
the target itself gives, as `bench` does.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np


@dataclass(slots=True)
class Score:
    """Counts over rows, by step."""

    rows: list[int] = field(default_factory=list)  # rows with a prediction at step s
    right: list[int] = field(default_factory=list)  # … predicted rightly
    whole: list[int] = field(default_factory=list)  # … at which all steps up to s were right

    def add(self, step: int, rows: int, right: int, whole: int) -> None:
        """Count one batch at one step."""
        for counts, count in ((self.rows, rows), (self.right, right), (self.whole, whole)):
            counts.extend([0] * (step + 1 - len(counts)))
            counts[step] += count

    @property
    def accuracy(self) -> list[float]:
        """By step."""
        return [r / n if n else 0.0 for r, n in zip(self.right, self.rows, strict=True)]

    def tau(self, depth: int = 3) -> float:
        """Predicted tokens per target pass of a chain of that depth."""
        steps = list(zip(self.whole, self.rows, strict=True))[:depth]
        return 1.0 + float(np.sum([w / n if n else 0.0 for w, n in steps]))

    def __str__(self) -> str:
        return f"accuracy {' / '.join(f'{a:.3f}' for a in self.accuracy)}, chain τ {self.tau():.2f}"
