"""A llama's forward pass in plain numpy, straight from the definition: an independent check of weights and graphs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from engine.models.dims import ModelDims

Array = NDArray[np.float32]


def logits(ids: Sequence[int], weights: Mapping[str, Array], dims: ModelDims) -> Array:
    """Logits after every token of `ids`: [len(ids), vocab]. Weights under Hugging Face's names."""
    x = weights["model.embed_tokens.weight"][list(ids)]
    for i in range(dims.layer_nums):
        layer = f"model.layers.{i}"
        y = _rms_norm(x, weights[f"{layer}.input_layernorm.weight"], dims)
        x = x + _attention(y, {m: weights[f"{layer}.self_attn.{m}_proj.weight"] for m in "qkvo"}, dims)
        y = _rms_norm(x, weights[f"{layer}.post_attention_layernorm.weight"], dims)
        gate = y @ weights[f"{layer}.mlp.gate_proj.weight"].T
        up = y @ weights[f"{layer}.mlp.up_proj.weight"].T
        x = x + (gate / (1 + np.exp(-gate)) * up) @ weights[f"{layer}.mlp.down_proj.weight"].T
    head = weights["model.embed_tokens.weight" if dims.tied_embeddings else "lm_head.weight"]
    return _rms_norm(x, weights["model.norm.weight"], dims) @ head.T


def _attention(x: Array, w: Mapping[str, Array], dims: ModelDims) -> Array:
    rows, heads, kv = len(x), dims.num_attention_heads, dims.num_key_value_heads
    q = _rotate((x @ w["q"].T).reshape(rows, heads, dims.head_dim), dims)
    k = _rotate((x @ w["k"].T).reshape(rows, kv, dims.head_dim), dims)
    v = (x @ w["v"].T).reshape(rows, kv, dims.head_dim)
    k, v = (np.repeat(t, heads // kv, axis=1) for t in (k, v))
    scores = np.einsum("qhd,khd->hqk", q, k) / np.sqrt(dims.head_dim)
    scores = np.where(np.tri(rows, dtype=bool), scores, -np.inf)
    scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
    scores /= scores.sum(axis=-1, keepdims=True)
    return np.einsum("hqk,khd->qhd", scores, v).reshape(rows, -1).astype(np.float32) @ w["o"].T


def _rotate(x: Array, dims: ModelDims) -> Array:
    """Rotary positions 0..S-1 on [S, heads, d], pairing i with i + d/2."""
    half = dims.head_dim // 2
    angle = np.arange(len(x))[:, None] * dims.rope_theta ** (-np.arange(half) / half)
    cos, sin = np.cos(angle)[:, None], np.sin(angle)[:, None]
    left, right = x[..., :half], x[..., half:]
    return np.concatenate([left * cos - right * sin, right * cos + left * sin], axis=-1).astype(np.float32)


def _rms_norm(x: Array, gain: Array, dims: ModelDims) -> Array:
    return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + dims.rms_norm_eps) * gain
