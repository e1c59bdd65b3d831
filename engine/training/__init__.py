"""How a draft head is made for a model that has none.

Computing needs PyTorch, which comes with the train extra; importing this package does not, and the functions here say
so in one sentence where it is missing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from engine import progress as steps
from engine.training.needs_torch import require_torch
from engine.training.request import TrainingRequest as TrainingRequest
from engine.training.request import training_folder as training_folder

if TYPE_CHECKING:
    from engine.training.pipeline import Outcome

Say = Callable[[str], None]


def train_head(
    request: TrainingRequest,
    *,
    progress: steps.ProgressCallback = steps.ignore,
    say: Say = lambda line: None,
    cancel: threading.Event | None = None,
) -> Outcome:
    """Train a draft head, or continue to; `say` gets a line for the user now and then.

    Raises `Cancelled` with everything saved, so that the same call continues; `ConfigError`, `CheckpointError`,
    `ModelFolderError`.
    """
    require_torch()
    from engine.training import pipeline

    return pipeline.train_head(request, progress=progress, say=say, cancel=cancel)


def export_data(
    request: TrainingRequest,
    path: Path,
    *,
    progress: steps.ProgressCallback = steps.ignore,
    say: Say = lambda line: None,
    cancel: threading.Event | None = None,
) -> int:
    """Write the conversations of a request as JSON Lines for SpecForge; their number. Raises as `train_head`."""
    require_torch()
    from engine.training import pipeline

    return pipeline.export_data(request, path, progress=progress, say=say, cancel=cancel)
