"""Reads an EAGLE-3 draft head (arXiv 2503.01840) from a checkpoint folder, whoever trained it.

Accepts the layouts of EAGLE, SpecForge, SGLang, speculators (RedHat) and NVIDIA and returns one form. Strict: a
checkpoint that does not fit the target, or holds anything unknown, is refused in one sentence. Knows nothing of ONNX.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engine.errors import CheckpointError
from engine.models.checkpoint_files import open_checkpoint, read_json
from engine.models.dims import ModelDims
from engine.models.eagle_config import EagleHeadConfig, parse_head_config
from engine.models.eagle_tensors import check_tensors, normalise, read_d2t
from engine.models.folder import HeadKind
from engine.models.stored_tensor import StoredTensor

Weights = Callable[[str], NDArray[np.float32]]  # the target's, by Hugging Face name
_NOT_WEIGHTS = ("d2t", "t2d", "embed_tokens.weight", "lm_head.weight")


@dataclass(frozen=True, slots=True, eq=False)
class EagleCheckpoint:
    """A head, ready to be written as a graph.

    `tensors`: float32 by normalised name: `fc.weight` [H, 3·H_target], `layers.0.*`, `norm.weight`, `lm_head.weight`
    [draft_vocab, H], with `fc.bias`, `input_norm.weight`, `fc_norm.{0,1,2}.weight`, biases and `q_norm`/`k_norm`
    where the head has them. `embed_tokens.weight` [vocab, H] is there only when the head must use its own.
    `d2t`: int32 [draft_vocab] offsets; target id = i + d2t[i]. `warnings`: sentences for the user.
    """

    config: EagleHeadConfig
    tensors: dict[str, NDArray[np.float32]]
    d2t: NDArray[np.int32]
    warnings: tuple[str, ...] = ()

    @property
    def kind(self) -> HeadKind:
        """An MTP head reads one hidden stream and is the same otherwise (see `mtp_checkpoint`)."""
        return "mtp" if len(self.config.taps) == 1 else "eagle"


def read_eagle_checkpoint(folder: Path, target: ModelDims, weights: Weights | None = None) -> EagleCheckpoint:
    """Read and check the head in `folder` for a target. Raises `CheckpointError`.

    `weights` gives the target's tensors; with them own embeddings are compared and a missing lm_head is borrowed.
    """
    try:
        return _read(folder, target, weights)
    except CheckpointError as error:
        raise CheckpointError(f"Draft head {folder.resolve().name}: {error}") from error


def variants(checkpoint: EagleCheckpoint) -> list[EagleCheckpoint]:
    """Every plausible reading of what the config leaves open, likeliest first; one when it leaves nothing open.

    Score each on text of the target (teacher-forced agreement) and keep the best. Tensors are shared, not copied.
    """
    c = checkpoint.config
    residuals = (True, False) if c.norm_before_residual is None else (c.norm_before_residual,)
    readings = [
        (i + j + k, _decided(c, residual, taps, theta))
        for i, residual in enumerate(residuals)
        for j, taps in enumerate((c.taps, *c.taps_alternatives))
        for k, theta in enumerate((c.rope_theta, *c.rope_theta_alternatives))
    ]
    readings.sort(key=lambda reading: reading[0])  # stable: fewest departures first
    return [replace(checkpoint, config=config) for _, config in readings]


def _decided(c: EagleHeadConfig, residual: bool, taps: tuple[int, ...], theta: float) -> EagleHeadConfig:
    return replace(
        c,
        norm_before_residual=residual,
        taps=taps,
        rope_theta=theta,
        taps_alternatives=(),
        rope_theta_alternatives=(),
    )


def _read(folder: Path, target: ModelDims, weights: Weights | None) -> EagleCheckpoint:
    values = read_json(folder / "config.json")
    stored = normalise(open_checkpoint(folder))
    config, warnings = parse_head_config(values, target, stored.keys())
    check_tensors(stored, config)
    d2t = read_d2t(stored, config)
    if config.draft_vocab_size < config.vocab_size and not d2t.any():
        warnings.append(
            f"Its d2t is all zeros: the draft knows the first {config.draft_vocab_size} tokens only, or is damaged."
        )
    tensors = {name: tensor.floats() for name, tensor in stored.items() if name not in _NOT_WEIGHTS}
    tensors |= _lm_head(stored, config, target, weights)
    tensors |= _embeddings(stored, config, weights, warnings)
    return EagleCheckpoint(config, tensors, d2t, tuple(warnings))


def _lm_head(
    stored: dict[str, StoredTensor], c: EagleHeadConfig, target: ModelDims, weights: Weights | None
) -> dict[str, NDArray[np.float32]]:
    """The head's own; else the target's, if draft and target share vocabulary and width. Never tied, never random."""
    name = "lm_head.weight"
    if name in stored:
        return {name: stored[name].floats()}
    if c.draft_vocab_size != c.vocab_size or c.hidden_size != c.target_hidden_size:
        raise CheckpointError(
            f"{name} is missing: the target's cannot stand in, it has {c.vocab_size} × {c.target_hidden_size} values "
            f"and {c.draft_vocab_size} × {c.hidden_size} are needed."
        )
    if weights is None:
        raise CheckpointError(f"{name} is missing: the head can only be read together with its target's weights.")
    return {name: weights("model.embed_tokens.weight" if target.tied_embeddings else name)}


def _embeddings(
    stored: dict[str, StoredTensor], c: EagleHeadConfig, weights: Weights | None, warnings: list[str]
) -> dict[str, NDArray[np.float32]]:
    """The head's own only where the target's do not fit; otherwise the target's, with a warning if they differ."""
    own = stored.get("embed_tokens.weight")
    if c.hidden_size != c.target_hidden_size:
        if own is None:
            raise CheckpointError(
                f"embed_tokens.weight is missing: the head is {c.hidden_size} wide, so it cannot use the target's "
                f"embeddings of {c.target_hidden_size}."
            )
        return {"embed_tokens.weight": own.floats()}
    if own is not None and weights is not None:
        same = _agreement(own.floats(), weights("model.embed_tokens.weight"))
        if same < 0.99:
            warnings.append(
                f"Its own embeddings differ from the target's ({same:.0%} of the tokens agree): the target's are used."
            )
    return {}


def _agreement(a: NDArray[np.float32], b: NDArray[np.float32]) -> float:
    """Share of rows that point the same way (cosine above 0.9): quantized rows do, rows trained apart do not."""
    rows = np.linspace(0, len(a) - 1, min(len(a), 1024), dtype=np.int64)
    x, y = a[rows].astype(np.float64), b[rows].astype(np.float64)
    dot, sizes = (x * y).sum(axis=1), (x * x).sum(axis=1) * (y * y).sum(axis=1)
    return float(((dot > 0.9 * np.sqrt(sizes)) | (x == y).all(axis=1)).mean())
