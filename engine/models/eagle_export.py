"""Writes an EAGLE-3 head in the public checkpoint format, as EAGLE, SpecForge and SGLang read it.

The inverse of `read_eagle_checkpoint`: `config.json` and `model.safetensors` in float16, with the layer named
`midlayer` and hidden streams counted as "layers executed before capture" (Hugging Face's index).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save_file

from engine.errors import CheckpointError
from engine.models.eagle_checkpoint import EagleCheckpoint
from engine.models.eagle_config import EagleHeadConfig
from engine.models.eagle_tensors import LAYER


def write_eagle_checkpoint(folder: Path, checkpoint: EagleCheckpoint) -> None:
    """Write the head into `folder`, made if missing; weights first, so that a config.json means a whole head.

    Weights are rounded to float16; one that does not fit, or an undecided reading, raises `CheckpointError`.
    """
    config = public_config(checkpoint.config)
    config["norm_before_fc"] = "input_norm.weight" in checkpoint.tensors
    config["fc_norm"] = "fc_norm.0.weight" in checkpoint.tensors
    write_checkpoint(folder, config, checkpoint)


def write_checkpoint(folder: Path, config: dict[str, Any], checkpoint: EagleCheckpoint) -> None:
    """`config.json` as given, and all tensors of the head with d2t and t2d."""
    tensors: dict[str, NDArray[Any]] = {
        name.replace(f"{LAYER}.", "midlayer."): _half(name, values) for name, values in checkpoint.tensors.items()
    }
    ids = np.arange(checkpoint.config.draft_vocab_size) + checkpoint.d2t
    tensors["d2t"] = checkpoint.d2t.astype(np.int64)
    tensors["t2d"] = np.isin(np.arange(checkpoint.config.vocab_size), ids)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").unlink(missing_ok=True)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")


def _half(name: str, values: NDArray[np.float32]) -> NDArray[np.float16]:
    if np.abs(values).max(initial=0.0) > np.finfo(np.float16).max:
        raise CheckpointError(f"{name} holds values too large for float16: the head cannot be written.")
    return np.ascontiguousarray(values, dtype=np.float16)


def public_config(c: EagleHeadConfig) -> dict[str, Any]:
    """The values of config.json."""
    if c.norm_before_residual is None:
        raise CheckpointError("The head's residual rule is undecided: choose one of its variants before writing it.")
    values: dict[str, Any] = {
        "architectures": ["LlamaForCausalLMEagle3"],
        "model_type": "llama",
        "hidden_act": "silu",
        "num_hidden_layers": c.n_layers,
        "hidden_size": c.hidden_size,
        "target_hidden_size": c.target_hidden_size,
        "intermediate_size": c.intermediate_size,
        "num_attention_heads": c.num_attention_heads,
        "num_key_value_heads": c.num_key_value_heads,
        "head_dim": c.head_dim,
        "attention_bias": c.attention_bias,
        "rms_norm_eps": c.rms_norm_eps,
        "rope_theta": c.rope_theta,
        "vocab_size": c.vocab_size,
        "draft_vocab_size": c.draft_vocab_size,
        "norm_before_residual": c.norm_before_residual,
        "norm_output": c.norm_output,
        "eagle_aux_hidden_state_layer_ids": list(c.taps),
        "tie_word_embeddings": False,
        "torch_dtype": "float16",
    }
    if c.trained_positions is not None:
        values["max_position_embeddings"] = c.trained_positions
    return values
