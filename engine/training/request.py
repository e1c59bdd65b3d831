"""What a person asks of `train`: which model, which data, how long, and where things go. No PyTorch."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engine.config import Range
from engine.errors import ConfigError
from engine.models.cache import cache_folder
from engine.training.prompts import PROMPTS_SHARE

DEFAULT_TOKENS = 1_000_000
HOURS = Range(0.0001, 1000, "Time for training, in hours.")
LONGEST = Range(16, 32768, "Tokens of a conversation that are used.")
CHECKPOINT_MINUTES = Range(0.001, 600, "Minutes between two saved states.")
MLP_WIDTH = Range(8, 65536, "Units of the head's MLP.")
DRAFT_VOCAB = Range(16, 1_000_000, "Tokens that the head knows.")


def training_folder(model: Path) -> Path:
    """Where everything about training for a model lies unless a person says otherwise."""
    return cache_folder() / "training" / model.resolve().name


@dataclass(frozen=True, slots=True)
class TrainingRequest:
    """One call of `train`. `plan`: settings of `TrainingPlan` that differ from the defaults.

    `hours` or `plan["steps"]` says how long. `data`: .npz files; `tokens`: how much text the model writes besides, in
    the work folder (None: a million where no data is given), in conversations of at most `text_length` tokens.
    `prompts`: a file that `prompts_share` of them start from. `init`: a head to continue; `draft_vocab` None keeps its
    tokens. `recompute` None: store hidden states on a processor, make them anew on a GPU.
    """

    model: Path
    work: Path
    data: tuple[Path, ...] = ()
    tokens: int | None = None
    prompts: Path | None = None
    prompts_share: float = PROMPTS_SHARE
    text_length: int = 1024
    batch: int = 64
    init: Path | None = None
    out: Path | None = None
    hours: float | None = None
    plan: dict[str, Any] = field(default_factory=dict)
    draft_vocab: int | None = None
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
        if self.draft_vocab is not None:
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
    def wanted_tokens(self) -> int:
        """Tokens of text that the model is to write; 0: none."""
        if self.tokens is not None:
            return self.tokens
        return 0 if self.data else DEFAULT_TOKENS

    @property
    def text_folder(self) -> Path:
        """Parts of the text that the model wrote."""
        return self.work / "text"

    @property
    def run_folder(self) -> Path:
        """State of the training run."""
        return self.work / self.kind

    @property
    def out_folder(self) -> Path:
        """Where the model goes with its head."""
        return self.out or self.work / "model"
