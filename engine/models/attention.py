"""The attention part of a decoder graph, `cpu` flavour: GroupQueryAttention over a shared key-value buffer.

The seam for other flavours: a writer with the same two methods that uses primitives and a slot cache instead.
Never run this flavour on DirectML: its kernel ignores the mask and the positions without saying so.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto

from engine.models.graph import MICROSOFT, Graph


@dataclass(frozen=True, slots=True)
class AttentionShape:
    """Sizes of one attention layer."""

    heads: int
    kv_heads: int
    head_dim: int
    rope_theta: float
    positions: int  # rows of the rotary tables


def rotary_tables(shape: AttentionShape) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """cos and sin [positions, head_dim / 2] for half-split rotary embedding (RoFormer, arXiv 2104.09864)."""
    steps = np.arange(0, shape.head_dim, 2, dtype=np.float64) / shape.head_dim
    angles = np.outer(np.arange(shape.positions), shape.rope_theta**-steps)
    return np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)


class CpuAttention:
    """Declares the attention inputs of a graph once, then writes a node per layer."""

    flavour = "cpu"

    def __init__(self, graph: Graph, shape: AttentionShape) -> None:
        self._graph = graph
        self._shape = shape
        graph.input("attention_mask", TensorProto.FLOAT, [1, 1, "S", "T"])
        graph.input("position_ids", TensorProto.INT64, [1, "S"])
        graph.input("seqlens_k", TensorProto.INT32, [1])
        graph.input("total_sequence_length", TensorProto.INT32, [])
        cos, sin = rotary_tables(shape)
        self._tables = graph.weight("rope.cos", cos), graph.weight("rope.sin", sin)

    def __call__(self, layer: int, qkv: str) -> str:
        """Packed projections [1, S, (heads + 2·kv_heads)·head_dim] → [1, S, heads·head_dim].

        The mask alone decides visibility within the causal order of rows, so a parent must precede its children.
        Behind an empty cache the kernel numbers positions by itself, from the first one on: no tree may start there.
        """
        g, s = self._graph, self._shape
        past = [self._cache(f"past_key_values.{layer}.{kind}", is_input=True) for kind in ("key", "value")]
        out = g.fresh("attention")
        present = [f"present.{layer}.{kind}" for kind in ("key", "value")]
        # query, key, value, past, seqlens_k, total, cos, sin, position_ids, attention_bias
        inputs = [qkv, "", "", *past, "seqlens_k", "total_sequence_length", *self._tables]
        inputs += ["position_ids", "attention_mask"]
        attrs = {"num_heads": s.heads, "kv_num_heads": s.kv_heads, "do_rotary": 1, "scale": s.head_dim**-0.5}
        g.ops("GroupQueryAttention", *inputs, outs=[out, *present], domain=MICROSOFT, **attrs)
        for name in present:
            self._cache(name, is_input=False)
        return out

    def _cache(self, name: str, *, is_input: bool) -> str:
        """A key or value buffer [1, kv_heads, capacity, head_dim]; past and present are bound to the same memory."""
        shape: list[int | str] = [1, self._shape.kv_heads, "C" if is_input else "C_out", self._shape.head_dim]
        if is_input:
            self._graph.input(name, TensorProto.FLOAT, shape)
        else:
            self._graph.output(name, TensorProto.FLOAT, shape)
        return name
