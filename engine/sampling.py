"""From logits to a token: penalty, temperature, truncation, one draw.

A draw depends only on (seed, absolute position, logits, history), never on what was drawn before: plain decoding and
any draft tree that ask for the same position get the same token. Knows nothing of models, trees or text.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.config import SamplingConfig
from engine.errors import RuntimeUnavailable

Logits = NDArray[np.float32]

_BLOCK = 256  # tokens per block of the two-step search for a draw
_GROUPS = 1024  # groups whose maxima bound the k-th largest value from below
_BINS, _BINS_PER_NAT = 1024, 40.0  # of top_p's border search: weights below exp(-1023 / 40) share the last bin
_COLDEST = 1e-6  # below this, differences of float32 logits decide alone


class Sampler:
    """Draws tokens as `config` says. Not thread-safe: it keeps scratch memory."""

    def __init__(self, config: SamplingConfig) -> None:
        self.config = config
        self._scratch: Logits = np.zeros(0, dtype=np.float32)

    def draw(self, logits: Logits, position: int, history: Iterable[int] | NDArray[Any] = ()) -> int:
        """The token for absolute `position`, from logits [V], which stay as they are.

        In this order, each as Hugging Face's generate defines it: repetition penalty over the ids in `history`
        (duplicates count once), temperature, top_k, top_p, min_p; at least one token remains. Temperature 0 takes the
        largest penalised logit, the first of equals.
        """
        config = self.config
        if config.repetition_penalty != 1.0:
            logits = _penalised(logits, config.repetition_penalty, history)
        best = int(logits.argmax())
        top = float(logits[best])
        if not math.isfinite(top):
            raise RuntimeUnavailable(
                f"The model's best logit at position {position} is {top}: this machine computes it wrongly; "
                "try another precision or execution provider."
            )
        if config.temperature == 0:
            return best
        share = uniform(config.seed, position)
        if 0 < config.top_k < len(logits):
            return self._draw_few(logits, top, share)
        return self._draw_any(logits, top, share)

    def _draw_few(self, logits: Logits, top: float, share: float) -> int:
        """A draw among the top_k largest logits, exact in float64."""
        config = self.config
        ids = largest(logits, config.top_k)
        weights = np.exp((logits[ids].astype(np.float64) - top) / max(config.temperature, _COLDEST))
        if config.top_p < 1:
            weights[_beyond(weights, config.top_p * weights.sum())] = 0
        weights[weights < config.min_p] = 0
        return int(ids[_inverse_cdf(weights, share * weights.sum())])

    def _draw_any(self, logits: Logits, top: float, share: float) -> int:
        """A draw over the whole vocabulary; block sums first, which is cheaper than one long cumulative sum."""
        config = self.config
        weights = self._weights(logits, top)
        if config.top_p < 1:
            self._cut_nucleus(weights[: len(logits)])
        if config.min_p > 0:
            weights[weights < config.min_p] = 0
        blocks = weights.reshape(-1, _BLOCK)
        sums = blocks.sum(axis=1).cumsum(dtype=np.float64)
        target = share * float(sums[-1])
        block = int(sums.searchsorted(target, side="right"))
        before = float(sums[block - 1]) if block else 0.0
        return block * _BLOCK + _inverse_cdf(blocks[block].astype(np.float64), target - before)

    def _weights(self, logits: Logits, top: float) -> Logits:
        """exp((logit - top) / temperature) in scratch memory, zero-padded to whole blocks: [ceil(V / 256) * 256]."""
        size = -(-len(logits) // _BLOCK) * _BLOCK
        if len(self._scratch) != size:
            self._scratch = np.zeros(size, dtype=np.float32)
        weights = self._scratch[: len(logits)]
        np.subtract(logits, np.float32(top), out=weights)
        weights *= np.float32(1 / max(self.config.temperature, _COLDEST))
        np.exp(weights, out=weights)
        self._scratch[len(logits) :] = 0
        return self._scratch

    def _cut_nucleus(self, weights: Logits) -> None:
        """Set to 0 what top_p leaves out of weights [V], the largest of which is 1.

        All V tokens below (1 - top_p) * sum / V together cannot reach 1 - top_p, so the border lies above them. The
        others are binned by logarithm, and only the bin that holds the border needs sorting.
        """
        total = float(weights.sum(dtype=np.float64))
        wanted = self.config.top_p * total
        ids = np.flatnonzero(weights > 0.99 * (total - wanted) / len(weights))
        near = weights[ids]
        bins = np.minimum(np.log(near) * np.float32(-_BINS_PER_NAT), _BINS - 1).astype(np.intp)
        mass = np.bincount(bins, weights=near).cumsum()
        border = int(mass.searchsorted(wanted, side="left"))
        inside = np.flatnonzero(bins == border)
        dropped = inside[_beyond(near[inside].astype(np.float64), wanted - float(mass[border - 1] if border else 0.0))]
        near[bins > border] = near[dropped] = 0
        weights.fill(0)
        weights[ids] = near


def _penalised(logits: Logits, penalty: float, history: Iterable[int] | NDArray[Any]) -> Logits:
    """A copy in which the logits of `history` are divided (positive) or multiplied (negative) by `penalty`."""
    ids = history if isinstance(history, np.ndarray) else np.fromiter(history, dtype=np.int64)
    seen = logits[ids]
    out = logits.copy()
    out[ids] = np.where(seen > 0, seen / np.float32(penalty), seen * np.float32(penalty))
    return out


def largest(logits: Logits, count: int) -> NDArray[np.intp]:
    """Ids of the `count` largest logits and of all that equal the last of them, ascending."""
    if count >= len(logits):
        return np.arange(len(logits))
    rows = len(logits) // _GROUPS
    if rows < 2 or count > _GROUPS:
        return np.flatnonzero(logits >= np.partition(logits, -count)[-count])
    maxima = logits[: rows * _GROUPS].reshape(rows, _GROUPS).max(axis=0)
    ids = np.flatnonzero(logits >= np.partition(maxima, -count)[-count])  # a few more than count
    values = logits[ids]
    kept: NDArray[np.intp] = ids[values >= np.partition(values, -count)[-count]]
    return kept


def _beyond(weights: NDArray[np.float64], wanted: float) -> NDArray[np.intp]:
    """Indices outside the smallest set of largest weights that sums to `wanted`; ties by index, one always stays."""
    order = (-weights).argsort(kind="stable")
    return order[int(weights[order].cumsum().searchsorted(wanted, side="left")) + 1 :]


def _inverse_cdf(weights: NDArray[np.float64], target: float) -> int:
    """First index whose cumulative weight exceeds `target`; the last of positive weight if rounding leaves none."""
    index = int(weights.cumsum().searchsorted(target, side="right"))
    return index if index < len(weights) else int(np.flatnonzero(weights)[-1])


def uniform(seed: int, position: int) -> float:
    """A number in [0, 1) that belongs to (seed, position): two rounds of SplitMix64 (Steele, Lea, Flood 2014)."""
    return (_mix(_mix(seed) + position) >> 11) * 2.0**-53


def _mix(value: int) -> int:
    """SplitMix64's step and finalizer on 64 bits."""
    mask = 0xFFFFFFFFFFFFFFFF
    value = (value + 0x9E3779B97F4A7C15) & mask
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & mask
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & mask
    return value ^ (value >> 31)


class Judge:
    """What the target thinks of a token it decided. Not thread-safe: it keeps scratch memory."""

    def __init__(self) -> None:
        self._scratch: Logits = np.zeros(0, dtype=np.float32)

    def __call__(self, logits: Logits, token: int) -> tuple[float, float]:
        """(probability of `token` at temperature 1 with nothing truncated, margin of the best logit over the second).

        The margin is inf where there is no second.
        """
        if len(self._scratch) != len(logits):
            self._scratch = np.zeros_like(logits)
        best = int(logits.argmax())
        top = logits[best]
        weights = np.subtract(logits, top, out=self._scratch)
        np.exp(weights, out=weights)
        share = float(weights[token] / weights.sum())
        rest = [float(part.max()) for part in (logits[:best], logits[best + 1 :]) if len(part)]
        return share, float(top) - max(rest) if rest else math.inf
