"""SmoothQuant: move large activations into the weights before rows are quantized (arXiv 2211.10438).

Scales for four inputs per layer are found from a short text run in float32, and folded into norm gains, value rows
and up rows, so the graph itself does not change. Knows activations and weights; not graphs, not files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.models.dims import ModelDims

Array = NDArray[np.float32]
ALPHA = 0.65  # measured: 0.940 agreement against 0.908 without (docs/log.md)


@dataclass(frozen=True, slots=True)
class LayerScales:
    """What each matrix input of one layer is divided by, and its weights' columns multiplied with."""

    attn_in: Array  # [hidden]
    attn_out: Array  # [heads · head_dim], equal for the query heads that share a value head
    mlp_in: Array  # [hidden]
    mlp_mid: Array  # [intermediate]

    def v_rows(self, dims: ModelDims) -> Array:
        """The divisor of each row of v: one per value head and channel. # [kv_heads · head_dim]."""
        groups = dims.num_attention_heads // dims.num_key_value_heads
        return self.attn_out.reshape(dims.num_key_value_heads, groups, dims.head_dim)[:, 0].reshape(-1)


@dataclass(frozen=True, slots=True)
class SmoothScales:
    """Scales of every layer."""

    layers: tuple[LayerScales, ...]

    def layer(self, index: int) -> LayerScales:
        """Scales of one layer."""
        return self.layers[index]


def balance(activation: Array, weight: Array, alpha: float = ALPHA) -> Array:
    """max|X_j|^α / max|W_j|^(1-α) per input channel j (SmoothQuant, equation 4), geometric mean 1."""
    floor = np.float32(1e-5)
    scale = np.maximum(activation, floor) ** alpha / np.maximum(weight, floor) ** (1 - alpha)
    return np.asarray(scale / np.exp(np.log(scale).mean()), np.float32)


def find_scales(
    dims: ModelDims, peaks: Mapping[str, Array], weights: Callable[[str], Array], alpha: float = ALPHA
) -> SmoothScales:
    """Scales from `peaks`: "layer.name" → max|X| per channel, with the names of `decoder_graph.CALIBRATED`."""
    return SmoothScales(tuple(_layer_scales(dims, i, peaks, weights, alpha) for i in range(dims.layer_nums)))


def _layer_scales(
    dims: ModelDims, index: int, peaks: Mapping[str, Array], weights: Callable[[str], Array], alpha: float
) -> LayerScales:
    def column_peak(*names: str) -> Array:
        found = [np.abs(weights(f"model.layers.{index}.{n}_proj.weight")).max(axis=0) for n in names]
        return np.asarray(np.max(found, axis=0), np.float32)

    def shared(per_head: Array) -> Array:
        """The maximum over the query heads that read one value head, repeated for each of them."""
        groups = dims.num_attention_heads // dims.num_key_value_heads
        grid = per_head.reshape(dims.num_key_value_heads, groups, dims.head_dim)
        return np.repeat(grid.max(axis=1, keepdims=True), groups, axis=1).reshape(-1)

    at = {name: peaks[f"{index}.{name}"] for name in ("attn_in", "attn_out", "mlp_in", "mlp_mid")}
    attn = [f"self_attn.{m}" for m in "qkv"]
    return LayerScales(
        attn_in=balance(at["attn_in"], column_peak(*attn), alpha),
        attn_out=balance(shared(at["attn_out"]), shared(column_peak("self_attn.o")), alpha),
        mlp_in=balance(at["mlp_in"], column_peak("mlp.gate", "mlp.up"), alpha),
        mlp_mid=balance(at["mlp_mid"], column_peak("mlp.down"), alpha),
    )
