"""The settings of a training run: names, ranges, and the schedules that follow from them. No PyTorch.

Everything that the losses of a run depend on is here and in the data, so a run that was killed continues exactly.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Self

from engine.config import Range
from engine.errors import ConfigError

KINDS = ("eagle3", "mtp")
RANGES: dict[str, Range] = {
    "steps": Range(1, 10_000_000, "Updates of the weights in the whole run."),
    "batch_tokens": Range(64, 1_000_000, "Tokens per update."),
    "unroll_from": Range(1, 7, "Steps that the draft is unrolled over its own outputs at first."),
    "unroll": Range(1, 7, "The same at the end."),
    "step_weight": Range(0.1, 1, "How much less each further step counts than the one before."),
    "later_share": Range(0.05, 1, "Share of a batch that is unrolled beyond the first step."),
    "learning_rate": Range(1e-7, 1, "Largest step size of the optimizer (AdamW)."),
    "warmup": Range(0, 0.5, "Share of the run in which the step size grows to its largest."),
    "weight_decay": Range(0, 1, "Pull of the weights towards zero."),
    "clip": Range(1e-3, 1e3, "Largest length of the gradient."),
    "ema": Range(0, 0.99999, "Memory of the averaged weights that are scored and written; 0: none."),
    "held_out": Range(0.001, 0.5, "Share of the conversations that only validation reads."),
    "held_out_from": Range(0, 1_000_000_000, "First conversation that may be held out."),
    "evaluations": Range(1, 1000, "How often the head is scored."),
    "patience": Range(1, 1000, "Scores without a better one after which the run ends."),
    "score_steps": Range(1, 7, "Unrolled steps that validation looks at."),
    "seed": Range(0, 2**63 - 1, "Order of the conversations, and random starts."),
}


@dataclass(frozen=True, slots=True)
class TrainingPlan:
    """One run. `compute`: the number format of matrix products, "bfloat16" or "float32"."""

    steps: int
    kind: str = "eagle3"
    compute: str = "float32"
    batch_tokens: int = 4096
    unroll_from: int = 1
    unroll: int = 3
    step_weight: float = 0.8
    later_share: float = 0.5
    learning_rate: float = 6e-4
    warmup: float = 0.02
    weight_decay: float = 0.0
    clip: float = 0.5
    ema: float = 0.995
    held_out: float = 0.03
    held_out_from: int = 0
    evaluations: int = 20
    patience: int = 6
    score_steps: int = 5
    seed: int = 0

    def __post_init__(self) -> None:
        for f in fields(self):
            if f.name in RANGES:
                kind = int if f.type in (int, "int") else float
                object.__setattr__(self, f.name, RANGES[f.name].check(f.name, getattr(self, f.name), kind))
        if self.kind not in KINDS:
            raise ConfigError(f"Unknown kind of head {self.kind!r}: use one of {', '.join(KINDS)}.")
        if self.unroll < self.unroll_from:
            raise ConfigError(f"unroll is {self.unroll}: it must be at least unroll_from, {self.unroll_from}.")

    def unroll_at(self, step: int) -> int:
        """Unrolled steps at an update: from `unroll_from` to `unroll` in stages of equal length."""
        stages = self.unroll - self.unroll_from + 1
        return min(self.unroll, self.unroll_from + step * stages // self.steps)

    def rate_at(self, step: int) -> float:
        """Step size at an update: a linear warm-up, then half a cosine down to a twentieth."""
        warm = max(1, round(self.warmup * self.steps))
        if step < warm:
            return self.learning_rate * (step + 1) / warm
        done = (step - warm) / max(1, self.steps - warm)
        return self.learning_rate * (0.05 + 0.95 * 0.5 * (1 + math.cos(math.pi * min(1.0, done))))

    def ema_at(self, step: int) -> float:
        """Memory of the average, shorter at the start so that the first weights are soon forgotten."""
        return min(self.ema, (1 + step) / (10 + step))

    def scores_after(self, step: int) -> bool:
        """Whether the head is scored when `step` updates are done."""
        every = max(1, self.steps // self.evaluations)
        return step == self.steps or step % every == 0

    def to_mapping(self) -> dict[str, Any]:
        """As plain JSON values."""
        return asdict(self)

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> Self:
        """The inverse; raises `ConfigError`."""
        known = {f.name for f in fields(cls)}
        try:
            return cls(**{key: value for key, value in values.items() if key in known})
        except TypeError as error:
            raise ConfigError(f"The settings of this run cannot be read ({error}): start it with --fresh.") from None


@dataclass(frozen=True, slots=True)
class RunRecord:
    """What a work folder remembers of its run, so that only the same run is continued in it."""

    plan: TrainingPlan
    data: str  # `DataSet.key`
    start: str  # what the head started from

    def write(self, path: Path) -> None:
        """As JSON, whole or not at all."""
        part = path.with_name(path.name + ".part")
        values = {"plan": self.plan.to_mapping(), "data": self.data, "start": self.start}
        part.write_text(json.dumps(values, indent=1) + "\n", encoding="utf-8")
        part.replace(path)

    @classmethod
    def read(cls, path: Path) -> Self | None:
        """None where there is no run; a damaged record raises `ConfigError`."""
        if not path.is_file():
            return None
        try:
            values = json.loads(path.read_text(encoding="utf-8"))
            return cls(TrainingPlan.from_mapping(values["plan"]), str(values["data"]), str(values["start"]))
        except (OSError, ValueError, KeyError, TypeError):
            raise ConfigError(f"{path} is damaged: start the run again with --fresh.") from None
