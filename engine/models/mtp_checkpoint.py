"""Reads and writes an MTP draft head: Eyrie's own checkpoint layout, described in docs/mtp_head.md.

The tensors are those of an EAGLE-3 head whose `fc` reads one stream, the target's after all layers; so both share one
form in memory, one graph and one drafter. Strict: own files leave nothing open. Knows nothing of ONNX.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.errors import CheckpointError
from engine.models.checkpoint_files import open_checkpoint, read_json
from engine.models.dims import ModelDims
from engine.models.eagle_checkpoint import EagleCheckpoint
from engine.models.eagle_config import MTP_CLASS, EagleHeadConfig, check_sizes
from engine.models.eagle_export import public_config, write_checkpoint
from engine.models.eagle_tensors import check_tensors, normalise, read_d2t
from engine.models.json_fields import Fields
from engine.models.stored_tensor import StoredTensor

Weights = Callable[[str], NDArray[np.float32]]  # the target's, by Hugging Face name
_LM_HEAD = "lm_head.weight"
_FIXED = {"model_type": "llama", "hidden_act": "silu", "num_hidden_layers": 1}  # what the layer is; nothing else yet
_KNOWN = {
    *("architectures", "torch_dtype", "notes", "target_layers", "norm_before_residual", "hidden_size", "head_dim"),
    *("intermediate_size", "num_attention_heads", "num_key_value_heads", "rms_norm_eps", "rope_theta"),
    *("vocab_size", "draft_vocab_size", "max_position_embeddings", *_FIXED),
}


def is_mtp_checkpoint(folder: Path) -> bool:
    """Whether the folder's config.json says that it is one. Raises `CheckpointError` where there is none to read."""
    return read_json(folder / "config.json").get("architectures") == [MTP_CLASS]


def read_mtp_checkpoint(folder: Path, target: ModelDims, weights: Weights | None = None) -> EagleCheckpoint:
    """Read and check the head in `folder` for a target. Raises `CheckpointError`.

    `weights` gives the target's tensors; with them a missing lm_head is borrowed, row by row.
    """
    try:
        return _read(folder, target, weights)
    except CheckpointError as error:
        raise CheckpointError(f"MTP head {folder.resolve().name}: {error}") from error


def write_mtp_checkpoint(folder: Path, checkpoint: EagleCheckpoint, notes: dict[str, Any] | None = None) -> None:
    """Write the head into `folder`, made if missing, in float16. `notes`: whatever is worth knowing, as JSON."""
    if len(checkpoint.config.taps) != 1:
        raise CheckpointError("The head reads several hidden streams, so it is no MTP head.")
    config = public_config(checkpoint.config)
    values = {key: value for key, value in config.items() if key in _KNOWN}
    values |= {"architectures": [MTP_CLASS], "target_layers": checkpoint.config.taps[0]}
    if notes is not None:
        values["notes"] = notes
    write_checkpoint(folder, values, checkpoint)


def _read(folder: Path, target: ModelDims, weights: Weights | None) -> EagleCheckpoint:
    config = _config(read_json(folder / "config.json"), target)
    stored = normalise(open_checkpoint(folder))
    check_tensors(stored, config, "an MTP head")
    d2t = read_d2t(stored, config)
    if "embed_tokens.weight" in stored:
        raise CheckpointError("embed_tokens.weight is there, but an MTP head uses the target's embeddings.")
    tensors = {name: t.floats() for name, t in stored.items() if name not in ("d2t", "t2d", _LM_HEAD)}
    tensors[_LM_HEAD] = _lm_head(stored, d2t, target, weights)
    return EagleCheckpoint(config, tensors, d2t)


def _lm_head(
    stored: dict[str, StoredTensor], d2t: NDArray[np.int32], target: ModelDims, weights: Weights | None
) -> NDArray[np.float32]:
    """The head's own [draft_vocab, hidden], else the target's rows for the draft vocabulary."""
    if _LM_HEAD in stored:
        return stored[_LM_HEAD].floats()
    if weights is None:
        raise CheckpointError(f"{_LM_HEAD} is missing: the head can only be read together with its target's weights.")
    rows = weights("model.embed_tokens.weight" if target.tied_embeddings else _LM_HEAD)
    return np.ascontiguousarray(rows[np.arange(len(d2t)) + d2t])


def _config(values: dict[str, Any], target: ModelDims) -> EagleHeadConfig:
    if values.get("architectures") != [MTP_CLASS]:
        found = values.get("architectures")
        raise CheckpointError(f"architectures in config.json is {found!r}: an MTP head of Eyrie says [{MTP_CLASS!r}].")
    if unknown := sorted(values.keys() - _KNOWN):
        raise CheckpointError(f"config.json has an unknown key {unknown[0]!r}: its meaning would be lost.")
    for key, value in _FIXED.items():
        if values.get(key, value) != value:
            raise CheckpointError(f"{key} in config.json is {values[key]!r}: only {value!r} is supported.")
    fields = Fields(values)
    residual = fields.flag("norm_before_residual", None)
    if residual is None:
        raise CheckpointError("its config.json has no norm_before_residual.")
    layers = fields.whole("target_layers")
    if layers != target.layer_nums:
        raise CheckpointError(
            f"the head is for a target of {layers} layers and this one has {target.layer_nums}: it belongs to another "
            "model."
        )
    hidden = fields.whole("hidden_size")
    config = EagleHeadConfig(
        hidden_size=hidden,
        target_hidden_size=hidden,
        intermediate_size=fields.whole("intermediate_size"),
        num_attention_heads=fields.whole("num_attention_heads"),
        num_key_value_heads=fields.whole("num_key_value_heads"),
        head_dim=fields.whole("head_dim"),
        rms_norm_eps=fields.number("rms_norm_eps"),
        rope_theta=fields.number("rope_theta"),
        vocab_size=fields.whole("vocab_size"),
        draft_vocab_size=fields.whole("draft_vocab_size"),
        taps=(layers,),
        norm_before_residual=residual,
        trained_positions=fields.whole("max_position_embeddings", None),
    )
    check_sizes(config, target)
    return config
