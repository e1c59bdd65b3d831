"""What a person asks of `train`: which model, which data, how long, and where things go. No PyTorch."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engine.config import Range
from engine.errors import ConfigError
from engine.training.draft_vocab import DEFAULT_SIZE

HOURS = Range(0.002, 1000, "Time for training, in hours.")
LONGEST = Range(16, 32768, "Tokens of a conversation that are used.")
CHECKPOINT_MINUTES = Range(0.01, 600, "Minutes between two saved states.")
MLP_WIDTH = Range(8, 65536, "Units of the head's MLP.")
DRAFT_VOCAB = Range(16, 1_000_000, "Tokens that the head knows.")


@dataclass(frozen=True, slots=True)
class TrainingRequest:
    """One call of `train`. `plan`: settings of `TrainingPlan` that differ from the defaults.

    `hours` or `plan["steps"]` says how long. `data`: .npz files; none: what was synthesized in the work folder.
    `init`: a head to continue. `recompute` None: store hidden states on a processor, make them anew on a GPU.
    """

    model: Path
    work: Path
    data: tuple[Path, ...] = ()
    init: Path | None = None
    out: Path | None = None
    hours: float | None = None
    plan: dict[str, Any] = field(default_factory=dict)
    draft_vocab: int = DEFAULT_SIZE
    mlp_width: int | None = None
    max_length: int = 2048
    device: str = "auto"
    compute: str = "auto"
    threads: int | None = None
    recompute: bool | None = None
    checkpoint_minutes: float = 5.0
    fresh: bool = False

    def __post_init__(self) -> None:
        if self.hours is not None:
            HOURS.check("hours", self.hours, float)
        LONGEST.check("max_length", self.max_length, int)
        CHECKPOINT_MINUTES.check("checkpoint_minutes", self.checkpoint_minutes, float)
        DRAFT_VOCAB.check("draft_vocab", self.draft_vocab, int)
        if self.mlp_width is not None:
            MLP_WIDTH.check("mlp_width", self.mlp_width, int)
        if self.threads is not None and self.threads < 1:
            raise ConfigError(f"threads is {self.threads}: give a whole number from 1.")

    @property
    def kind(self) -> str:
        """Of the head."""
        return str(self.plan.get("kind", "eagle3"))

    @property
    def run_folder(self) -> Path:
        """State of the training run."""
        return self.work / self.kind

    @property
    def out_folder(self) -> Path:
        """Where the model goes with its head."""
        return self.out or self.work / "model"
