"""What a loaded model costs and how good it is on this machine: pass times, loss, agreement with a reference.

Times of different sizes are taken in turn, so a busy moment hits all of them alike; read them as ratios.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from engine import progress as steps
from engine.errors import ConfigError
from engine.model import Model

ROWS = (1, 2, 4, 8, 16)
_CHUNK = 128
_PLAIN_CONTEXT = 128
_PLAIN_REPEATS = 9


def target_times(
    model: Model, rows: Sequence[int] = ROWS, *, context: int = 200, repeats: int = 20
) -> dict[int, float]:
    """Median milliseconds of a target pass over that many rows behind `context` cached ones. Empties the caches."""

    def run(count: int) -> None:
        positions = np.arange(context, context + count, dtype=np.int64)
        model.target.forward(np.full(count, 1, np.int64), positions)

    with _Filled(model, context):
        return _in_turn(run, rows, repeats)


def draft_times(model: Model, rows: Sequence[int] = ROWS, *, context: int = 200, repeats: int = 20) -> dict[int, float]:
    """Median milliseconds of a draft pass over that many rows, likewise. Raises `ConfigError` without a draft head."""
    if model.draft is None:
        raise ConfigError(f"{model.name} has no draft head to measure.")
    head = model.draft

    def run(count: int) -> None:
        positions = np.arange(context, context + count, dtype=np.int64)
        head.forward(np.full(count, 1, np.int64), np.zeros((count, head.hidden_size), np.float32), positions, 4)

    with _Filled(model, context):
        return _in_turn(run, rows, repeats)


def calibrate_plain(model: Model) -> float:
    """Median milliseconds of one plain decoding pass (one row), the yardstick for speed-ups. Empties the caches."""
    return target_times(model, (1,), context=_PLAIN_CONTEXT, repeats=_PLAIN_REPEATS)[1]


@dataclass(frozen=True, slots=True)
class Quality:
    """How well a model predicts given text."""

    loss: float  # mean negative log-likelihood of the next token, nats
    top: NDArray[np.int64]  # [N] its likeliest next token at every position

    def agreement(self, reference: Quality) -> float:
        """Share of positions with the same likeliest token."""
        return float((self.top == reference.top).mean())


def quality(
    model: Model,
    texts: Sequence[Sequence[int]],
    *,
    progress: steps.ProgressCallback = steps.ignore,
) -> Quality:
    """Teacher-forced scores over token sequences, each from an empty cache."""
    losses: list[NDArray[np.float64]] = []
    tops: list[NDArray[np.int64]] = []
    for done, text in enumerate(texts):
        progress(steps.Progress("Scoring text", done, len(texts)))
        model.reset()
        ids = np.asarray(text, np.int64)[: model.dims.context_length]
        for at in range(0, len(ids) - 1, _CHUNK):
            chunk = ids[at : at + _CHUNK]
            logits = model.target.forward(chunk, np.arange(at, at + len(chunk))).logits
            model.target.cache.advance(len(chunk))
            wanted = ids[at + 1 : at + 1 + len(chunk)]
            losses.append(_losses(logits[: len(wanted)], wanted))
            tops.append(logits[: len(wanted)].argmax(axis=1))
    model.reset()
    return Quality(float(np.concatenate(losses).mean()), np.concatenate(tops))


def _losses(logits: NDArray[np.float32], wanted: NDArray[np.int64]) -> NDArray[np.float64]:
    """-log softmax(logits)[wanted]. [N, V], [N] → [N]."""
    shifted = logits.astype(np.float64) - logits.max(axis=1, keepdims=True)
    return np.asarray(np.log(np.exp(shifted).sum(axis=1)) - shifted[np.arange(len(wanted)), wanted])


class _Filled:
    """Caches that hold `context` rows of whatever is in memory; emptied afterwards."""

    def __init__(self, model: Model, context: int) -> None:
        self._model = model
        self._context = context

    def __enter__(self) -> None:
        self._model.reset()
        for cache in [self._model.target.cache, *([self._model.draft.cache] if self._model.draft else [])]:
            cache.data[:, :, : self._context] = 0
            cache.advance(self._context)

    def __exit__(self, *_: object) -> None:
        self._model.reset()


def _in_turn(run: Callable[[int], None], sizes: Sequence[int], repeats: int) -> dict[int, float]:
    times: dict[int, list[float]] = {size: [] for size in sizes}
    for repeat in range(repeats + 2):
        for size in sizes:
            begin = perf_counter()
            run(size)
            if repeat >= 2:  # the first two warm up
                times[size].append((perf_counter() - begin) * 1e3)
    return {size: median(found) for size, found in times.items()}
