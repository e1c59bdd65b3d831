"""Chooses between plausible readings of a draft-head checkpoint by measuring them against the target.

The score is teacher-forced: after each token of a text, does the head's first choice equal the target's own?
"""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engine import progress as steps
from engine.draft_head import DraftHead
from engine.models.decoder_graph import write_decoder
from engine.models.dims import ModelDims
from engine.models.eagle_checkpoint import EagleCheckpoint
from engine.models.head_files import convert_head
from engine.runtime import default_threads
from engine.target import TargetModel

Weights = Callable[[str], NDArray[np.float32]]
_TOKENS = 512


def choose(
    readings: Sequence[EagleCheckpoint],
    dims: ModelDims,
    weights: Weights,
    tokens: Sequence[int],
    *,
    progress: steps.ProgressCallback = steps.ignore,
    cancel: threading.Event | None = None,
) -> EagleCheckpoint:
    """The reading that agrees most with the target over `tokens`; the first one on a tie."""
    if len(readings) == 1:
        return readings[0]
    text = np.asarray(tokens, np.int64)[:_TOKENS]
    best, best_score = readings[0], -1.0
    with tempfile.TemporaryDirectory(prefix="eyrie-head-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        np.save(folder / "embeddings.npy", weights("model.embed_tokens.weight").astype(np.float16))
        for taps in dict.fromkeys(r.config.taps for r in readings):
            steps.check(cancel)
            target = _target(folder, dims.with_taps(taps), weights)
            for reading in (r for r in readings if r.config.taps == taps):
                progress(steps.Progress("Finding out how to read the draft head", 0, 0))
                score = agreement(reading, target, text, folder)
                if score > best_score:
                    best, best_score = reading, score
            del target
    return best


def _target(folder: Path, dims: ModelDims, weights: Weights) -> TargetModel:
    write_decoder(folder / "llm.onnx", dims, weights, "int8")
    return TargetModel(folder, dims, default_threads())


def agreement(reading: EagleCheckpoint, target: TargetModel, text: NDArray[np.int64], folder: Path) -> float:
    """Share of positions at which the head, fed with `text`, chooses what the target chooses.

    Row t pairs the target's streams at t with token t + 1, so its first choice is compared with the target's own
    choice after token t + 1.
    """
    convert_head(reading, folder, target.dims)
    head = DraftHead(folder, target.dims, target.embed, default_threads())
    positions = np.arange(len(text))
    target.cache.truncate(0)
    output = target.forward(text, positions)
    wanted = output.logits.argmax(axis=1)  # [S] the target's choice after each token
    fused = head.fuse(output.hidden[:-1])
    ids = head.forward(text[1:], fused, positions[:-1], 1).ids[:, 0]
    return float((ids + head.d2t[ids] == wanted[1:]).mean())
