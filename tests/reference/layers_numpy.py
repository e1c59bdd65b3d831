"""Pieces of a llama layer in plain float64 numpy, written from the papers and not from the engine.

RMSNorm (arXiv 1910.07467), rotary positions in half-split form (arXiv 2104.09864), grouped-query attention
(arXiv 2305.13245), SwiGLU (arXiv 2002.05202). Slow and obvious on purpose.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class KvCache:
    """Keys (rotated) and values of the rows seen so far, per layer: [T, kv_heads, head_dim]."""

    def __init__(self, layers: int, kv_heads: int, head_dim: int) -> None:
        self.keys: list[Array] = [np.zeros((0, kv_heads, head_dim)) for _ in range(layers)]
        self.values: list[Array] = [np.zeros((0, kv_heads, head_dim)) for _ in range(layers)]

    def append(self, layer: int, keys: Array, values: Array) -> tuple[Array, Array]:
        """Add rows; returns all rows of the layer."""
        self.keys[layer] = np.concatenate([self.keys[layer], keys])
        self.values[layer] = np.concatenate([self.values[layer], values])
        return self.keys[layer], self.values[layer]

    def keep(self, rows: Any) -> None:
        """Keep only these rows, in this order."""
        self.keys = [k[rows] for k in self.keys]
        self.values = [v[rows] for v in self.values]

    def __len__(self) -> int:
        return len(self.keys[0])


def causal_mask(rows: int, past: int = 0) -> Array:
    """Additive mask [S, past + S]: a row sees the past, itself and the rows before it."""
    sees = np.arange(past + rows) <= past + np.arange(rows)[:, None]
    return np.where(sees, 0.0, -np.inf)


def rms_norm(x: Array, gain: Array, epsilon: float) -> Array:
    """x / sqrt(mean(x²) + ε) · gain over the last axis."""
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + epsilon) * gain


def silu(x: Array) -> Array:
    """x · sigmoid(x)."""
    return x / (1.0 + np.exp(-x))


def rotate(x: Array, positions: NDArray[np.int64], theta: float) -> Array:
    """Rotary embedding of [S, heads, head_dim]: element i turns with element i + head_dim/2."""
    half = x.shape[-1] // 2
    angles = positions[:, None] * theta ** (-np.arange(half) / half)  # [S, half]
    cos, sin = np.cos(angles)[:, None, :], np.sin(angles)[:, None, :]
    low, high = x[..., :half], x[..., half:]
    return np.concatenate([low * cos - high * sin, high * cos + low * sin], axis=-1)


def attend(q: Array, k: Array, v: Array, mask: Array) -> Array:
    """Softmax attention. q [S, heads, d]; k, v [T, kv_heads, d]; mask [S, T] additive → [S, heads·d]."""
    heads, kv_heads = q.shape[1], k.shape[1]
    out = np.empty_like(q)
    for head in range(heads):
        group = head * kv_heads // heads
        scores = q[:, head] @ k[:, group].T / np.sqrt(q.shape[-1]) + mask
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        out[:, head] = weights / weights.sum(axis=-1, keepdims=True) @ v[:, group]
    return out.reshape(len(q), -1)


def swiglu(x: Array, gate: Array, up: Array, down: Array) -> Array:
    """down(silu(gate·x) · up·x); matrices as stored, [out, in]."""
    return (silu(x @ gate.T) * (x @ up.T)) @ down.T


def log_softmax(x: Array) -> Array:
    """Over the last axis."""
    shifted = x - x.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
