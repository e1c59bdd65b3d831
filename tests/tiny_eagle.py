"""Random EAGLE-3 heads of a few kilobytes, in any checkpoint style, for tests."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save_file

from engine.models.dims import ModelDims

TARGET = ModelDims(
    hidden_size=16,
    layer_nums=12,
    num_attention_heads=4,
    num_key_value_heads=2,
    head_dim=4,
    intermediate_size=40,
    vocab_size=64,
    context_length=512,
    rope_theta=50_000.0,
)
DRAFT_VOCAB = 24
IDS = np.sort(np.random.default_rng(7).permutation(64)[:DRAFT_VOCAB])  # target ids of the draft vocabulary
SHAPES = {
    "fc.weight": (16, 48),
    "midlayer.input_layernorm.weight": (16,),
    "midlayer.hidden_norm.weight": (16,),
    "midlayer.post_attention_layernorm.weight": (16,),
    "midlayer.self_attn.q_proj.weight": (16, 32),
    "midlayer.self_attn.k_proj.weight": (8, 32),
    "midlayer.self_attn.v_proj.weight": (8, 32),
    "midlayer.self_attn.o_proj.weight": (16, 16),
    "midlayer.mlp.gate_proj.weight": (40, 16),
    "midlayer.mlp.up_proj.weight": (40, 16),
    "midlayer.mlp.down_proj.weight": (16, 40),
    "norm.weight": (16,),
    "lm_head.weight": (DRAFT_VOCAB, 16),
}

Tensors = dict[str, NDArray[Any]]


def random_tensors(shapes: Mapping[str, tuple[int, ...]] = SHAPES, seed: int = 0) -> dict[str, NDArray[np.float16]]:
    """Weights of the given shapes that float16 holds exactly; norms around 1."""
    rng = np.random.default_rng(seed)
    return {name: (rng.normal(0, 0.2, shape) + ("norm" in name)).astype(np.float16) for name, shape in shapes.items()}


def head_tensors(extra: Mapping[str, tuple[int, ...]] | None = None, without: tuple[str, ...] = ()) -> Tensors:
    """A whole head in the public naming, with d2t and t2d."""
    tensors: Tensors = {**random_tensors({**SHAPES, **(extra or {})})}
    tensors["d2t"] = IDS - np.arange(DRAFT_VOCAB)
    tensors["t2d"] = np.isin(np.arange(64), IDS)
    return {name: values for name, values in tensors.items() if name not in without}


def head_config(**changes: Any) -> dict[str, Any]:
    """A flat config.json as EAGLE writes it; a change to None removes the key."""
    values = {
        "architectures": ["LlamaForCausalLMEagle3"],
        "model_type": "llama",
        "hidden_size": 16,
        "intermediate_size": 40,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "num_hidden_layers": 1,
        "vocab_size": 64,
        "draft_vocab_size": DRAFT_VOCAB,
        "rms_norm_eps": 1e-5,
        "rope_theta": 10_000.0,
        "max_position_embeddings": 2048,
        "hidden_act": "silu",
        "tie_word_embeddings": True,
        **changes,
    }
    return {key: value for key, value in values.items() if value is not None}


def speculators_config(**changes: Any) -> dict[str, Any]:
    """A nested config.json as speculators writes it."""
    layer = head_config(architectures=None, draft_vocab_size=None, tie_word_embeddings=None)
    values = {
        "architectures": ["Eagle3Speculator"],
        "speculators_model_type": "eagle3",
        "transformer_layer_config": layer,
        "speculators_config": {"proposal_methods": [{"speculative_tokens": 3}], "verifier": {"name_or_path": "x"}},
        "draft_vocab_size": DRAFT_VOCAB,
        **changes,
    }
    return {key: value for key, value in values.items() if value is not None}


def write_head(folder: Path, config: Any = None, tensors: Tensors | None = None) -> Path:
    """A checkpoint folder: config.json and model.safetensors."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(head_config() if config is None else config))
    save_file(head_tensors() if tensors is None else tensors, folder / "model.safetensors")
    return folder


def renamed(tensors: Tensors, old: str, new: str) -> Tensors:
    """The same with a prefix of names replaced."""
    return {new + n[len(old) :] if n.startswith(old) else n: v for n, v in tensors.items()}
