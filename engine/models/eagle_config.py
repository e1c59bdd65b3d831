"""The config.json of an EAGLE-3 head, in every layout in use, as one flat record.

Layouts: flat (EAGLE, SpecForge, SGLang), nested `transformer_layer_config` (speculators), nested `eagle_config`
(NVIDIA). Knows no tensors except whether some are there. What a config leaves open is kept as alternatives.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from engine.errors import CheckpointError
from engine.models.dims import ModelDims
from engine.models.eagle_readings import Taps, read_rope, read_taps
from engine.models.json_fields import Fields

_LLAMA_LIKE = ("llama", "mistral", "qwen2", "qwen3")
MTP_CLASS = "EyrieMtp"
_SPECULATORS = ("speculators_model_type", "speculators_config", "transformer_layer_config")
_SPECULATORS_CLASSES = ("Eagle3Speculator", "Eagle3DraftModel")


@dataclass(frozen=True, slots=True)
class EagleHeadConfig:
    """Everything about a head but its weights.

    `taps`: decoder layers of the target that have run when each hidden stream is captured (0: the embeddings); low,
    middle, high; one for an MTP head, all of them. `norm_before_residual` None: the config leaves it open (see
    `eagle_checkpoint.variants`). `trained_positions` is a note for the user and sizes nothing. The alternatives are
    further plausible readings.
    """

    hidden_size: int
    target_hidden_size: int
    intermediate_size: int
    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    rms_norm_eps: float
    rope_theta: float
    vocab_size: int
    draft_vocab_size: int
    taps: Taps
    norm_before_residual: bool | None = False
    norm_output: bool = False
    attention_bias: bool = False
    trained_positions: int | None = None
    n_layers: int = 1
    taps_alternatives: tuple[Taps, ...] = ()
    rope_theta_alternatives: tuple[float, ...] = ()

    def __str__(self) -> str:
        """The reading in words, for a log."""
        residual = {True: "normed", False: "raw", None: "undecided"}[self.norm_before_residual]
        taps = ", ".join(map(str, self.taps))
        return f"hidden streams after {taps} layers, {residual} residual, rope_theta {self.rope_theta:g}"


def parse_head_config(
    values: Mapping[str, Any], target: ModelDims, tensors: Collection[str]
) -> tuple[EagleHeadConfig, list[str]]:
    """Read a head's config.json for a target. Returns the config and warnings; raises `CheckpointError`.

    `tensors`: normalised names in the checkpoint; they decide what the config may leave out (biases, norms).
    """
    raw = Fields(values)
    _check_kind(raw)
    flat = _flatten(raw)
    _check_layer_kind(raw, flat)
    warnings: list[str] = []
    hidden = flat.whole("hidden_size")
    heads = flat.whole("num_attention_heads")
    vocab = flat.whole("target_vocab_size", flat.whole("vocab_size", target.vocab_size))
    taps, other_taps = read_taps(raw, flat, target, warnings)
    theta, other_thetas = read_rope(flat, target, warnings)
    config = EagleHeadConfig(
        hidden_size=hidden,
        target_hidden_size=flat.whole("target_hidden_size", hidden),
        intermediate_size=flat.whole("intermediate_size"),
        num_attention_heads=heads,
        num_key_value_heads=flat.whole("num_key_value_heads", heads),
        head_dim=flat.whole("head_dim", max(1, hidden // heads)),
        rms_norm_eps=flat.number("rms_norm_eps"),
        rope_theta=theta,
        vocab_size=vocab,
        draft_vocab_size=flat.whole("draft_vocab_size", vocab),
        taps=taps,
        norm_before_residual=flat.flag("norm_before_residual", None if _is_speculators(raw) else False),
        norm_output=_norm_output(flat, tensors, warnings),
        attention_bias=any(name.endswith("q_proj.bias") for name in tensors),
        trained_positions=flat.whole("max_position_embeddings", None),
        taps_alternatives=other_taps,
        rope_theta_alternatives=other_thetas,
    )
    check_sizes(config, target)
    _check_promises(flat, tensors)
    if config.trained_positions and config.trained_positions < target.context_length:
        warnings.append(
            f"The head was trained to {config.trained_positions} positions of the target's {target.context_length}: "
            "beyond them fewer drafts may be accepted."
        )
    return config, warnings


def _flatten(raw: Fields) -> Fields:
    """Nested values first; top-level ones win where they say anything."""
    layer, nvidia = raw.nested("transformer_layer_config").values, dict(raw.nested("eagle_config").values)
    nvidia.pop("eagle_aux_hidden_state_layer_ids", None)  # means something else than at the top level
    return Fields({**layer, **nvidia, **raw.values})


def _is_speculators(raw: Fields) -> bool:
    classes = raw.values.get("architectures")
    named = isinstance(classes, list) and any(c in _SPECULATORS_CLASSES for c in classes)
    return named or any(key in raw.values for key in _SPECULATORS)


def _check_kind(raw: Fields) -> None:
    """Refuse, by name, heads that are not EAGLE-3."""
    kind = raw.values.get("speculators_model_type", "eagle3")
    if kind != "eagle3":
        raise CheckpointError(f"this is a {kind} head, not EAGLE-3: only EAGLE-3 heads can be used.")
    if raw.values.get("architectures") == [MTP_CLASS]:
        raise CheckpointError("this is an MTP head, not EAGLE-3: only EAGLE-3 heads can be used here.")
    if "dflash_config" in raw.values:
        raise CheckpointError("this is a DFlash head, not EAGLE-3: only EAGLE-3 heads can be used.")
    if raw.nested("eagle_config").flag("use_aux_hidden_state", True) is False:
        raise CheckpointError("this is an EAGLE-1/2 head, not EAGLE-3: its config says use_aux_hidden_state false.")
    if "quantization_config" in raw.values:
        raise CheckpointError(
            "this head is quantized (quantization_config): get the one in float16, bfloat16 or float32."
        )


def _check_layer_kind(raw: Fields, flat: Fields) -> None:
    kind = raw.nested("transformer_layer_config").values.get("model_type", "llama")
    if kind not in _LLAMA_LIKE:
        raise CheckpointError(f"its decoder layer is of type {kind}: known are {', '.join(_LLAMA_LIKE)}.")
    if (act := flat.values.get("hidden_act", "silu")) not in ("silu", "swish"):
        raise CheckpointError(f"hidden_act is {act!r}: only silu is supported.")


def _norm_output(flat: Fields, tensors: Collection[str], warnings: list[str]) -> bool:
    """EAGLE-3.1 feeds back the normed output. An old SpecForge wrote true and meant EAGLE-3 (SpecForge#879)."""
    written = flat.flag("norm_output", False)
    if written and "fc_norm.0.weight" not in tensors:
        warnings.append("Its config.json says norm_output but there is no fc_norm: it is read as a plain EAGLE-3 head.")
        return False
    return bool(written)


def check_sizes(c: EagleHeadConfig, target: ModelDims) -> None:
    """The head fits the target, and its sizes fit each other."""
    if c.target_hidden_size != target.hidden_size:
        raise CheckpointError(
            f"the head is for hidden size {c.target_hidden_size} and the target has {target.hidden_size}: it belongs "
            "to another model."
        )
    if c.vocab_size != target.vocab_size:
        raise CheckpointError(
            f"the head is for a vocabulary of {c.vocab_size} tokens and the target has {target.vocab_size}: it belongs "
            "to another model."
        )
    if c.draft_vocab_size > c.vocab_size:
        raise CheckpointError(f"draft_vocab_size {c.draft_vocab_size} is larger than vocab_size {c.vocab_size}.")
    if c.num_attention_heads % c.num_key_value_heads:
        raise CheckpointError(
            f"num_attention_heads {c.num_attention_heads} is no multiple of num_key_value_heads "
            f"{c.num_key_value_heads}."
        )
    if c.head_dim % 2:
        raise CheckpointError(f"head_dim {c.head_dim} is odd: rotary positions need an even one.")


def _check_promises(flat: Fields, tensors: Collection[str]) -> None:
    """A flag that stands for a tensor needs the tensor."""
    promises = {
        "norm_before_fc": "input_norm.weight",
        "fc_norm": "fc_norm.0.weight",
        "attention_bias": "layers.0.self_attn.q_proj.bias",
    }
    for key, name in promises.items():
        if flat.flag(key, False) and name not in tensors:
            raise CheckpointError(f"its config.json says {key} but {name} is missing.")
