"""A llama decoder in float64 numpy: what `llm.onnx` must compute."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.models.dims import ModelDims
from tests.reference.layers_numpy import Array, KvCache, attend, rms_norm, rotate, swiglu


class LlamaReference:
    """Weights by Hugging Face name (`model.layers.0.self_attn.q_proj.weight` ...), any float type."""

    def __init__(self, weights: Mapping[str, NDArray[Any]], dims: ModelDims) -> None:
        self._weights = {name: np.asarray(values, np.float64) for name, values in weights.items()}
        self.dims = dims

    def cache(self) -> KvCache:
        """An empty cache."""
        return KvCache(self.dims.layer_nums, self.dims.num_key_value_heads, self.dims.head_dim)

    def embed(self, tokens: Any) -> Array:
        """[S] → [S, H]."""
        return self._weights["model.embed_tokens.weight"][np.asarray(tokens)]

    def forward(self, embeds: Array, positions: NDArray[np.int64], mask: Array, cache: KvCache) -> tuple[Array, Array]:
        """Run S rows after the T - S rows in the cache, which grows by them.

        embeds [S, H], positions [S], mask [S, T] additive → logits [S, V], taps [S, 3·H]: the residual stream after
        `dims.hidden_taps` layers, concatenated.
        """
        d, stream = self.dims, np.asarray(embeds, np.float64)
        streams = [stream]
        for layer in range(d.layer_nums):
            stream = stream + self._attention(
                layer, self._norm(layer, "input_layernorm", stream), positions, mask, cache
            )
            stream = stream + self._mlp(layer, self._norm(layer, "post_attention_layernorm", stream))
            streams.append(stream)
        taps = np.concatenate([streams[k] for k in d.hidden_taps], axis=-1)
        normed = rms_norm(stream, self._weights["model.norm.weight"], d.rms_norm_eps)
        head = "model.embed_tokens.weight" if d.tied_embeddings else "lm_head.weight"
        return normed @ self._weights[head].T, taps

    def _attention(self, layer: int, x: Array, positions: NDArray[np.int64], mask: Array, cache: KvCache) -> Array:
        d, rows = self.dims, len(x)
        q, k, v = (x @ self._layer(layer, f"self_attn.{m}_proj").T for m in "qkv")
        q = rotate(q.reshape(rows, d.num_attention_heads, d.head_dim), positions, d.rope_theta)
        k = rotate(k.reshape(rows, d.num_key_value_heads, d.head_dim), positions, d.rope_theta)
        keys, values = cache.append(layer, k, v.reshape(rows, d.num_key_value_heads, d.head_dim))
        return attend(q, keys, values, mask) @ self._layer(layer, "self_attn.o_proj").T

    def _mlp(self, layer: int, x: Array) -> Array:
        return swiglu(x, *(self._layer(layer, f"mlp.{m}_proj") for m in ("gate", "up", "down")))

    def _norm(self, layer: int, name: str, x: Array) -> Array:
        return rms_norm(x, self._layer(layer, name), self.dims.rms_norm_eps)

    def _layer(self, layer: int, name: str) -> Array:
        return self._weights[f"model.layers.{layer}.{name}.weight"]


def random_weights(dims: ModelDims, seed: int = 0) -> dict[str, NDArray[np.float32]]:
    """Every tensor of a small random model, scaled so that activations stay around 1."""
    rng = np.random.default_rng(seed)
    h, q, kv = dims.hidden_size, dims.num_attention_heads * dims.head_dim, dims.num_key_value_heads * dims.head_dim
    shapes = {"model.embed_tokens.weight": (dims.vocab_size, h), "model.norm.weight": (h,)}
    if not dims.tied_embeddings:
        shapes["lm_head.weight"] = (dims.vocab_size, h)
    for layer in range(dims.layer_nums):
        p = f"model.layers.{layer}"
        shapes |= {f"{p}.input_layernorm.weight": (h,), f"{p}.post_attention_layernorm.weight": (h,)}
        shapes |= {f"{p}.self_attn.q_proj.weight": (q, h), f"{p}.self_attn.o_proj.weight": (h, q)}
        shapes |= {f"{p}.self_attn.{m}_proj.weight": (kv, h) for m in "kv"}
        shapes |= {f"{p}.mlp.{m}_proj.weight": (dims.intermediate_size, h) for m in ("gate", "up")}
        shapes |= {f"{p}.mlp.down_proj.weight": (h, dims.intermediate_size)}
    return {
        name: (rng.normal(1, 0.1, shape) if len(shape) == 1 else rng.normal(0, shape[1] ** -0.5, shape)).astype(
            np.float32
        )
        for name, shape in shapes.items()
    }
