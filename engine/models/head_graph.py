"""The two graphs of a draft head, EAGLE-3 (arXiv 2503.01840) or MTP, from a checkpoint that was read.

Besides the log-probabilities, the graph returns the best children of each row, so that nothing of the size of the
draft vocabulary is sorted on the host.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from onnx import TensorProto

from engine.models.attention import AttentionShape, CpuAttention
from engine.models.decoder_graph import gated, rms_norm
from engine.models.eagle_checkpoint import EagleCheckpoint
from engine.models.graph import Graph
from engine.models.linear import LinearWriter, Precision

F32 = TensorProto.FLOAT


def write_fc(path: Path, head: EagleCheckpoint, precision: Precision) -> None:
    """The target's hidden streams, concatenated → one. [1, S, taps·H] → [1, S, H]."""
    tensors, eps = head.tensors, head.config.rms_norm_eps
    width = tensors["fc.weight"].shape[1]
    with Graph(path) as g:
        x = g.input("fc_hidden", F32, [1, "S", width])
        if "input_norm.weight" in tensors:
            x = rms_norm(g, x, g.weight("input_norm", tensors["input_norm.weight"]), eps)
        if "fc_norm.0.weight" in tensors:
            x = _norm_streams(g, x, head)
        bias = g.weight("fc.bias", tensors["fc.bias"]) if "fc.bias" in tensors else None
        y = LinearWriter(g, precision)("fc", x, [tensors["fc.weight"]], bias)
        g.op("Identity", y, out="hidden_states")
        g.output("hidden_states", F32, [1, "S_out", head.config.hidden_size])


def _norm_streams(g: Graph, x: str, head: EagleCheckpoint) -> str:
    """EAGLE-3.1: every stream has a norm of its own."""
    gains = [head.tensors[f"fc_norm.{i}.weight"] for i in range(len(head.config.taps))]
    names = [g.fresh("stream") for _ in gains]
    g.ops("Split", x, g.const([len(gain) for gain in gains], np.int64), outs=names, axis=-1)
    eps = head.config.rms_norm_eps
    normed = (
        rms_norm(g, name, g.weight(f"fc_norm.{i}", gain), eps)
        for i, (name, gain) in enumerate(zip(names, gains, strict=True))
    )
    return g.op("Concat", *normed, axis=-1)


class HeadWriter:
    """Writes the one decoder layer, its norm and its vocabulary projection."""

    def __init__(self, graph: Graph, head: EagleCheckpoint, precision: Precision, positions: int) -> None:
        self._graph = graph
        self._tensors = head.tensors
        self._config = c = head.config
        self._linear = LinearWriter(graph, precision)
        embed_width = head.tensors["layers.0.input_layernorm.weight"].shape[0]
        self._embed = graph.input("input_embed", F32, [1, "S", embed_width])
        self._hidden = graph.input("hidden_states", F32, [1, "S", c.hidden_size])
        graph.input("logits_index", TensorProto.INT64, ["R"])
        graph.input("topk", TensorProto.INT64, [1])
        shape = AttentionShape(c.num_attention_heads, c.num_key_value_heads, c.head_dim, c.rope_theta, positions)
        self._attention = CpuAttention(graph, shape)

    def write(self) -> None:
        """One draft pass: embeddings of tokens t+1 and hidden states of t → what follows."""
        g, c = self._graph, self._config
        hidden = self._norm("layers.0.hidden_norm", self._hidden)
        x = g.op("Concat", self._norm("layers.0.input_layernorm", self._embed), hidden, axis=-1)
        attended = self._attention(0, self._qkv(x))
        residual = hidden if c.norm_before_residual else self._hidden
        h = g.op("Add", residual, self._project("layers.0.self_attn.o_proj", attended))
        h = g.op("Gather", h, "logits_index", axis=1)  # [1, R, H]: keys and values exist for all rows by now
        y = self._norm("layers.0.post_attention_layernorm", h)
        gate, up = (self._tensors[f"layers.0.mlp.{m}_proj.weight"] for m in ("gate", "up"))
        mlp = gated(g, self._linear("gate_up", y, [gate, up]), gate.shape[0])
        h = g.op("Add", h, self._project("layers.0.mlp.down_proj", mlp))
        normed = self._norm("norm", h)
        g.op("Identity", normed if c.norm_output else h, out="out_hidden_states")
        g.output("out_hidden_states", F32, [1, "R_out", c.hidden_size])
        self._logits(normed)

    def _logits(self, normed: str) -> None:
        g = self._graph
        logits = g.op("LogSoftmax", self._project("lm_head", normed), out="logits", axis=-1)
        g.output("logits", F32, [1, "R_logits", self._config.draft_vocab_size])
        g.ops("TopK", logits, "topk", outs=["top_scores", "top_ids"], axis=-1, largest=1, sorted=1)
        g.output("top_scores", F32, [1, "R_top", "K"])
        g.output("top_ids", TensorProto.INT64, [1, "R_top", "K"])

    def _qkv(self, x: str) -> str:
        g, t = self._graph, self._tensors
        names = [f"layers.0.self_attn.{m}_proj" for m in "qkv"]
        bias = None
        if f"{names[0]}.bias" in t:
            bias = g.weight("qkv.bias", np.concatenate([t[f"{n}.bias"] for n in names]))
        qkv = self._linear("qkv", x, [t[f"{n}.weight"] for n in names], bias)
        return self._norm_heads(qkv) if "layers.0.self_attn.q_norm.weight" in t else qkv

    def _norm_heads(self, qkv: str) -> str:
        """RMS norm of every query and key head before rotation (Qwen3); no CPU kernel does it inside attention."""
        g, c = self._graph, self._config
        widths = [c.num_attention_heads * c.head_dim, *[c.num_key_value_heads * c.head_dim] * 2]
        parts = [g.fresh(m) for m in "qkv"]
        g.ops("Split", qkv, g.const(widths, np.int64), outs=parts, axis=-1)
        split, join = g.const([0, 0, -1, c.head_dim], np.int64), g.const([0, 0, -1], np.int64)
        for i, m in enumerate("qk"):
            heads = self._norm(f"layers.0.self_attn.{m}_norm", g.op("Reshape", parts[i], split))
            parts[i] = g.op("Reshape", heads, join)
        return g.op("Concat", *parts, axis=-1)

    def _project(self, name: str, x: str) -> str:
        t = self._tensors
        bias = self._graph.weight(f"{name}.bias", t[f"{name}.bias"]) if f"{name}.bias" in t else None
        return self._linear(name, x, [t[f"{name}.weight"]], bias)

    def _norm(self, name: str, x: str) -> str:
        gain = self._graph.weight(f"{name}.gain", self._tensors[f"{name}.weight"])
        return rms_norm(self._graph, x, gain, self._config.rms_norm_eps)


def write_head(path: Path, head: EagleCheckpoint, precision: Precision, positions: int) -> None:
    """The layer. `positions` sizes the rotary table: the target's context, not what the head was trained to."""
    with Graph(path) as graph:
        HeadWriter(graph, head, precision, positions).write()
