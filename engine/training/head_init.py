"""What a head starts from: pieces of the target, or a head that exists. numpy."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engine.errors import CheckpointError
from engine.models.dims import ModelDims
from engine.models.eagle_checkpoint import EagleCheckpoint, read_eagle_checkpoint
from engine.models.eagle_config import EagleHeadConfig
from engine.models.mtp_checkpoint import is_mtp_checkpoint, read_mtp_checkpoint
from engine.training.folder_weights import FolderWeights

P = "layers.0"
_SMALL = 0.02
_RIDGE = 0.01  # of the mean square of a row; of the shipped head's change 74 % is explained so, docs/log.md
_PLAIN = {
    "fc.weight",
    "norm.weight",
    "lm_head.weight",
    *(f"{P}.{name}.weight" for name in ("input_layernorm", "hidden_norm", "post_attention_layernorm")),
    *(f"{P}.self_attn.{m}_proj.weight" for m in "qkvo"),
    *(f"{P}.mlp.{m}_proj.weight" for m in ("gate", "up", "down")),
}


def from_target(
    weights: FolderWeights, d2t: NDArray[np.int32], *, streams: int = 3, positions: int | None = None, seed: int = 0
) -> EagleCheckpoint:
    """The target's last layer, final norm and lm_head rows; fc passes the highest stream on. The layer's inputs from
    the embedding start small and random."""
    d, rng = weights.dims, np.random.default_rng(seed)
    last = d.layer_nums - 1
    q = d.num_attention_heads * d.head_dim
    kv = d.num_key_value_heads * d.head_dim
    qkv, gate_up = weights(f"{last}.qkv"), weights(f"{last}.gate_up")
    fc = np.zeros((d.hidden_size, streams * d.hidden_size), np.float32)
    fc[:, -d.hidden_size :] = np.eye(d.hidden_size)
    tensors = {
        "fc.weight": fc,
        f"{P}.input_layernorm.weight": np.ones(d.hidden_size, np.float32),
        f"{P}.hidden_norm.weight": weights(f"{last}.attn_norm"),
        f"{P}.post_attention_layernorm.weight": weights(f"{last}.mlp_norm"),
        f"{P}.self_attn.o_proj.weight": weights(f"{last}.o"),
        f"{P}.mlp.gate_proj.weight": gate_up[: d.intermediate_size],
        f"{P}.mlp.up_proj.weight": gate_up[d.intermediate_size :],
        f"{P}.mlp.down_proj.weight": weights(f"{last}.down"),
        "norm.weight": weights("norm"),
        "lm_head.weight": weights("lm_head")[np.arange(len(d2t)) + d2t],
    }
    for m, rows in zip("qkv", np.split(qkv, [q, q + kv]), strict=True):
        embedding = rng.normal(0, _SMALL, rows.shape).astype(np.float32)
        tensors[f"{P}.self_attn.{m}_proj.weight"] = np.concatenate([embedding, rows], axis=1)
    taps = d.hidden_taps if streams == 3 else (d.layer_nums,) * streams
    return EagleCheckpoint(_config(d, len(d2t), taps, positions), tensors, d2t)


def from_head(folder: Path, dims: ModelDims) -> EagleCheckpoint:
    """A head in the public format, to be trained further. Raises `CheckpointError` for kinds that cannot be."""
    mtp = is_mtp_checkpoint(folder)
    head = read_mtp_checkpoint(folder, dims) if mtp else read_eagle_checkpoint(folder, dims)
    extra = sorted(head.tensors.keys() - _PLAIN)
    if extra or head.config.norm_output or head.config.norm_before_residual is None:
        what = extra[0] if extra else "an unusual residual rule"
        raise CheckpointError(f"Draft head {folder.name} has {what}: only plain heads can be trained further.")
    if head.config.taps != (dims.hidden_taps if not mtp else (dims.layer_nums,)):
        raise CheckpointError(
            f"Draft head {folder.name} reads the streams after {head.config.taps} layers and the model gives "
            f"{dims.hidden_taps}: it cannot be trained further here."
        )
    return head


def widened(head: EagleCheckpoint, width: int, seed: int = 0) -> EagleCheckpoint:
    """The same function with an MLP of `width` units: new ones read at random and write nothing yet."""
    old, hidden = head.config.intermediate_size, head.config.hidden_size
    if width < old:
        raise CheckpointError(f"The head's MLP has {old} units and cannot be narrowed to {width}.")
    rng, tensors = np.random.default_rng(seed), dict(head.tensors)
    for m in ("gate", "up"):
        name = f"{P}.mlp.{m}_proj.weight"
        fresh = rng.normal(0, _SMALL, (width - old, hidden)).astype(np.float32)
        tensors[name] = np.concatenate([tensors[name], fresh])
    name = f"{P}.mlp.down_proj.weight"
    tensors[name] = np.concatenate([tensors[name], np.zeros((hidden, width - old), np.float32)], axis=1)
    return replace(head, config=replace(head.config, intermediate_size=width), tensors=tensors)


def with_vocabulary(head: EagleCheckpoint, d2t: NDArray[np.int32], weights: FolderWeights) -> EagleCheckpoint:
    """The head with another draft vocabulary: rows of tokens that it knows stay, new ones are the target's, changed as
    training changed those that stay."""
    old, ids = np.arange(len(head.d2t)) + head.d2t, np.arange(len(d2t)) + d2t
    target, learnt = weights("lm_head"), head.tensors["lm_head.weight"]
    place = np.full(weights.dims.vocab_size, -1)
    place[old] = np.arange(len(old))
    known = place[ids] >= 0
    rows = target[ids]
    rows[~known] += rows[~known] @ _change(target[old], learnt)
    rows[known] = learnt[place[ids[known]]]
    config = replace(head.config, draft_vocab_size=len(d2t))
    return replace(head, config=config, tensors={**head.tensors, "lm_head.weight": rows}, d2t=d2t)


def _change(rows: NDArray[np.float32], learnt: NDArray[np.float32]) -> NDArray[np.float32]:
    """Least squares with a ridge: the matrix [hidden, hidden] that comes nearest to `learnt - rows` from `rows`."""
    gram = rows.T @ rows
    ridge = _RIDGE * float(np.trace(gram)) / len(gram)
    change = np.linalg.solve(gram + ridge * np.eye(len(gram)), rows.T @ (learnt - rows))
    return change.astype(np.float32)


def _config(d: ModelDims, draft_vocab: int, taps: tuple[int, ...], positions: int | None) -> EagleHeadConfig:
    return EagleHeadConfig(
        hidden_size=d.hidden_size,
        target_hidden_size=d.hidden_size,
        intermediate_size=d.intermediate_size,
        num_attention_heads=d.num_attention_heads,
        num_key_value_heads=d.num_key_value_heads,
        head_dim=d.head_dim,
        rms_norm_eps=d.rms_norm_eps,
        rope_theta=d.rope_theta,
        vocab_size=d.vocab_size,
        draft_vocab_size=draft_vocab,
        taps=taps,
        trained_positions=positions,
    )
