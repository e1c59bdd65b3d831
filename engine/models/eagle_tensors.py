"""The tensors of an EAGLE-3 head: their names in every checkpoint style, their shapes, the draft vocabulary.

Strict: every tensor is used, or listed here as one that inference does not need; any other name is an error.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from engine.errors import CheckpointError
from engine.models.eagle_config import EagleHeadConfig
from engine.models.stored_tensor import StoredTensor

Tensors = Mapping[str, StoredTensor]
LAYER = "layers.0"
_IGNORED = re.compile(r"verifier_norm\..*|verifier_lm_head\..*|(.*\.)?rotary_emb\.inv_freq")
_QUANTIZED = re.compile(r".*[._](qweight|qzeros|scales|g_idx|weight_packed|weight_scale\w*|input_scale|zero_point)")
_EXTRA_LAYER = re.compile(r"(layers\.(?!0\.)\d+|additional_layers\.\d+)\..*")


def normalise(stored: Tensors) -> dict[str, StoredTensor]:
    """Tensors under one naming: no `model.` prefix, `midlayer.` as `layers.0.`, leftovers of training left out."""
    tensors: dict[str, StoredTensor] = {}
    for written, tensor in stored.items():
        name = re.sub(r"^midlayer\.", f"{LAYER}.", written.removeprefix("model."))
        if _IGNORED.fullmatch(name):
            continue
        if name == "mask_hidden":
            raise CheckpointError("this is a P-EAGLE head (mask_hidden), not EAGLE-3: only EAGLE-3 heads can be used.")
        if _EXTRA_LAYER.fullmatch(name):
            raise CheckpointError(
                f"it has more than one decoder layer ({written}): only heads of one layer can be used."
            )
        if _QUANTIZED.fullmatch(name):
            raise CheckpointError(f"this head is quantized ({written}): get the one in float16, bfloat16 or float32.")
        if name in tensors:
            raise CheckpointError(f"{name} is there twice, as {tensors[name].name} and as {written}.")
        tensors[name] = tensor
    return tensors


def check_generation(tensors: Tensors, hidden: int) -> None:
    """An EAGLE-1 or EAGLE-2 head attends over [H]; EAGLE-3 over [2·H], embedding beside hidden state."""
    q = tensors.get(f"{LAYER}.self_attn.q_proj.weight")
    if q is not None and len(q.shape) == 2 and q.shape[1] == hidden:
        raise CheckpointError(
            f"this is an EAGLE-1/2 head, not EAGLE-3: its q_proj reads {hidden} values, not twice that."
        )


def check_tensors(tensors: Tensors, c: EagleHeadConfig, kind: str = "an EAGLE-3 head") -> None:
    """Every required tensor is there, none is unknown, every shape is what the config and the target ask for."""
    if len(c.taps) > 1:
        check_generation(tensors, c.hidden_size)
    required, optional = _required_shapes(c), _optional_shapes(c)
    if unknown := [t.name for name, t in tensors.items() if name not in required and name not in optional]:
        raise CheckpointError(f"{unknown[0]!r} is not a tensor of {kind}: such heads are not supported.")
    _check_groups(tensors)
    if missing := [name for name in required if name not in tensors]:
        raise CheckpointError(f"{missing[0]} is missing: the checkpoint is incomplete or not {kind}.")
    _check_fc(tensors["fc.weight"], c)
    _check_head_dim(tensors[f"{LAYER}.self_attn.o_proj.weight"], c)
    for name, tensor in tensors.items():
        shape = required.get(name) or optional[name]
        if tensor.shape != shape:
            raise CheckpointError(f"{name} has shape {list(tensor.shape)}: config.json asks for {list(shape)}.")


def _check_groups(tensors: Tensors) -> None:
    """Tensors that come together or exclude each other."""
    attn = f"{LAYER}.self_attn"
    groups = [
        [f"{attn}.{m}_proj.bias" for m in "qkv"],
        [f"{attn}.q_norm.weight", f"{attn}.k_norm.weight"],
        [f"fc_norm.{i}.weight" for i in range(3)],
    ]
    for group in groups:
        there = [name for name in group if name in tensors]
        if there and len(there) != len(group):
            lost = next(name for name in group if name not in tensors)
            raise CheckpointError(f"{lost} is missing, although {there[0]} is there: the checkpoint is incomplete.")
    if "input_norm.weight" in tensors and "fc_norm.0.weight" in tensors:
        raise CheckpointError("it has both input_norm and fc_norm: a head uses one of them.")


def _check_fc(fc: StoredTensor, c: EagleHeadConfig) -> None:
    """The columns of fc say how many hidden streams of the target are read."""
    columns = fc.shape[-1] if len(fc.shape) == 2 else 0
    if columns % c.target_hidden_size or columns // c.target_hidden_size != len(c.taps):
        wanted = [c.hidden_size, len(c.taps) * c.target_hidden_size]
        raise CheckpointError(
            f"fc.weight has shape {list(fc.shape)}: {wanted} is expected, {len(c.taps)} hidden streams of the target."
        )


def _check_head_dim(o_proj: StoredTensor, c: EagleHeadConfig) -> None:
    """o_proj reads every head's output, so it tells whether head_dim is right."""
    if o_proj.shape[-1:] != (c.num_attention_heads * c.head_dim,):
        raise CheckpointError(
            f"head_dim {c.head_dim} and {c.num_attention_heads} heads do not fit o_proj of shape {list(o_proj.shape)}: "
            "config.json and weights disagree."
        )


def _required_shapes(c: EagleHeadConfig) -> dict[str, tuple[int, ...]]:
    h, q, kv = c.hidden_size, c.num_attention_heads * c.head_dim, c.num_key_value_heads * c.head_dim
    return {
        "fc.weight": (h, len(c.taps) * c.target_hidden_size),
        f"{LAYER}.input_layernorm.weight": (h,),
        f"{LAYER}.hidden_norm.weight": (h,),
        f"{LAYER}.post_attention_layernorm.weight": (h,),
        f"{LAYER}.self_attn.q_proj.weight": (q, 2 * h),
        f"{LAYER}.self_attn.k_proj.weight": (kv, 2 * h),
        f"{LAYER}.self_attn.v_proj.weight": (kv, 2 * h),
        f"{LAYER}.self_attn.o_proj.weight": (h, q),
        f"{LAYER}.mlp.gate_proj.weight": (c.intermediate_size, h),
        f"{LAYER}.mlp.up_proj.weight": (c.intermediate_size, h),
        f"{LAYER}.mlp.down_proj.weight": (h, c.intermediate_size),
        "norm.weight": (h,),
    }


def _optional_shapes(c: EagleHeadConfig) -> dict[str, tuple[int, ...]]:
    h, q, kv = c.hidden_size, c.num_attention_heads * c.head_dim, c.num_key_value_heads * c.head_dim
    return {
        "fc.bias": (h,),
        "input_norm.weight": (len(c.taps) * c.target_hidden_size,),
        **{f"fc_norm.{i}.weight": (c.target_hidden_size,) for i in range(len(c.taps))},
        f"{LAYER}.self_attn.q_proj.bias": (q,),
        f"{LAYER}.self_attn.k_proj.bias": (kv,),
        f"{LAYER}.self_attn.v_proj.bias": (kv,),
        f"{LAYER}.self_attn.o_proj.bias": (h,),
        f"{LAYER}.self_attn.q_norm.weight": (c.head_dim,),
        f"{LAYER}.self_attn.k_norm.weight": (c.head_dim,),
        "lm_head.weight": (c.draft_vocab_size, h),
        "embed_tokens.weight": (c.vocab_size, h),
        "d2t": (c.draft_vocab_size,),
        "t2d": (c.vocab_size,),
    }


def read_d2t(tensors: Tensors, c: EagleHeadConfig) -> NDArray[np.int32]:
    """Offsets int32 [draft_vocab]: target id = draft id + offset. Checked for range, uniqueness and against t2d."""
    if "d2t" in tensors:
        offsets = tensors["d2t"].integers()
    elif c.draft_vocab_size == c.vocab_size:
        offsets = np.zeros(c.draft_vocab_size, np.int64)
    else:
        raise CheckpointError(
            f"d2t is missing: with {c.draft_vocab_size} draft tokens of {c.vocab_size} nothing says which they are."
        )
    in_draft = tensors["t2d"].integers() != 0 if "t2d" in tensors else None
    ids = np.arange(c.draft_vocab_size) + offsets
    if fault := _fault(ids, in_draft, c.vocab_size):
        if _fault(offsets, in_draft, c.vocab_size) is None:
            fault = "it holds token ids where offsets from the draft id are expected"
        raise CheckpointError(f"d2t is wrong: {fault}.")
    return offsets.astype(np.int32)


def _fault(ids: NDArray[np.int64], in_draft: NDArray[np.bool_] | None, vocab: int) -> str | None:
    """What is wrong with the target ids of the draft vocabulary, if anything."""
    if ids.min() < 0 or ids.max() >= vocab:
        return f"draft token {int(np.argmax((ids < 0) | (ids >= vocab)))} maps outside the vocabulary of {vocab}"
    if len(np.unique(ids)) != len(ids):
        return "two draft tokens map to the same token"
    if in_draft is not None and not np.array_equal(np.flatnonzero(in_draft), ids):
        return "it disagrees with t2d about which tokens the draft vocabulary has"
    return None
