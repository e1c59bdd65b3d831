"""`llm.onnx`: a llama decoder from embeddings to logits, with hidden streams for draft heads.

`hidden_states` are three streams for EAGLE-3, `last_hidden` is the stream after all layers, for MTP; both before any
norm. An output that nobody binds costs nothing.
Contract: docs/model_folder.md. Weights come one at a time by Hugging Face name; knows nothing of files they come from.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto

from engine import progress as steps
from engine.models.attention import AttentionShape, CpuAttention
from engine.models.dims import ModelDims
from engine.models.graph import MICROSOFT, Graph
from engine.models.linear import LinearWriter, Precision
from engine.models.smooth import SmoothScales

Weights = Callable[[str], NDArray[np.float32]]
F32 = TensorProto.FLOAT
CALIBRATED = ("attn_in", "attn_out", "mlp_in", "mlp_mid")


class DecoderWriter:
    """Writes one decoder graph. `probe` adds the inputs of every matrix as outputs, for calibration."""

    def __init__(
        self, graph: Graph, dims: ModelDims, weights: Weights, precision: Precision, scales: SmoothScales | None = None
    ) -> None:
        self._graph = graph
        self._dims = dims
        self._scales = scales
        self._weights = weights
        self._linear = LinearWriter(graph, precision)
        self._embed = graph.input("input_embed", F32, [1, "S", dims.hidden_size])
        graph.input("logits_index", TensorProto.INT64, ["R"])
        shape = AttentionShape(
            dims.num_attention_heads, dims.num_key_value_heads, dims.head_dim, dims.rope_theta, dims.context_length
        )
        self._attention = CpuAttention(graph, shape)

    def write(
        self,
        *,
        probe: bool = False,
        progress: steps.ProgressCallback = steps.ignore,
        cancel: threading.Event | None = None,
    ) -> None:
        """All layers, taps and the head. Raises `Cancelled`."""
        g, d = self._graph, self._dims
        stream, update = self._embed, None
        taps: dict[int, str] = {}
        for layer in range(d.layer_nums):
            steps.check(cancel)
            progress(steps.Progress("Converting layers", layer, d.layer_nums))
            stream, update = self._layer(layer, stream, update, taps, probe)
        assert update is not None, "a decoder has a layer"
        stream = g.op("Add", stream, update, out="last_hidden")
        g.output("last_hidden", F32, [1, "S_last", d.hidden_size])
        if d.layer_nums in d.hidden_taps:
            taps[d.layer_nums] = stream
        g.op("Concat", *(taps[k] for k in d.hidden_taps), out="hidden_states", axis=-1)
        g.output("hidden_states", F32, [1, "S_out", len(d.hidden_taps) * d.hidden_size])
        self._head(stream)
        progress(steps.Progress("Converting layers", d.layer_nums, d.layer_nums))

    def _head(self, stream: str) -> None:
        """Final norm and vocabulary projection, only for the rows that were asked for."""
        g, d, w = self._graph, self._dims, self._weights
        rows = g.op("Gather", stream, "logits_index", axis=1)  # [1, R, hidden]
        rows = self._norm("model.norm.weight", rows, w("model.norm.weight"))
        lm_head = w("model.embed_tokens.weight" if d.tied_embeddings else "lm_head.weight")
        logits = self._linear("lm_head", rows, [lm_head], wide=True)
        g.op("Identity", logits, out="logits")
        g.output("logits", F32, [1, "R_out", d.vocab_size])

    def _layer(self, layer: int, stream: str, update: str | None, taps: dict[int, str], probe: bool) -> tuple[str, str]:
        """One decoder layer; returns the residual stream and what is still to be added to it."""
        g, w, scales = self._graph, self._weights, self._scales
        p = f"model.layers.{layer}"
        s = scales.layer(layer) if scales else None
        gain = w(f"{p}.input_layernorm.weight")
        x, stream = self._add_norm(f"{p}.input_layernorm", stream, update, gain / s.attn_in if s else gain)
        if layer in self._dims.hidden_taps:
            taps[layer] = stream
        q, k, v, o = (w(f"{p}.self_attn.{m}_proj.weight") for m in "qkvo")
        if s:
            q, k, v = q * s.attn_in, k * s.attn_in, v * s.attn_in / s.v_rows(self._dims)[:, None]
            o = o * s.attn_out
        attended = self._attention(layer, self._linear(f"{p}.qkv", x, [q, k, v]))
        update = self._linear(f"{p}.o", attended, [o])

        gain = w(f"{p}.post_attention_layernorm.weight")
        y, stream = self._add_norm(f"{p}.post_attention_layernorm", stream, update, gain / s.mlp_in if s else gain)
        gate, up, down = (w(f"{p}.mlp.{m}_proj.weight") for m in ("gate", "up", "down"))
        if s:
            gate, up, down = gate * s.mlp_in, up * s.mlp_in / s.mlp_mid[:, None], down * s.mlp_mid
        hidden = gated(g, self._linear(f"{p}.gate_up", y, [gate, up]), gate.shape[0])
        if probe:
            for name, value in zip(CALIBRATED, (x, attended, y, hidden), strict=True):
                g.op("Identity", value, out=f"probe.{layer}.{name}")
                g.output(f"probe.{layer}.{name}", F32, [1, "S_probe", f"{name}_width"])
        return stream, self._linear(f"{p}.down", hidden, [down])

    def _norm(self, name: str, x: str, gain: NDArray[np.float32]) -> str:
        gain_name = self._graph.weight(name, gain.astype(np.float32))
        return rms_norm(self._graph, x, gain_name, self._dims.rms_norm_eps)

    def _add_norm(self, name: str, stream: str, update: str | None, gain: NDArray[np.float32]) -> tuple[str, str]:
        """(RMS norm of stream + update, stream + update), fused where there is an update."""
        g = self._graph
        if update is None:
            return self._norm(name, stream, gain), stream
        outs = [g.fresh("norm"), "", "", g.fresh("stream")]
        gain_name = g.weight(name, gain.astype(np.float32))
        g.ops(
            "SkipSimplifiedLayerNormalization",
            *(stream, update, gain_name),
            outs=outs,
            domain=MICROSOFT,
            epsilon=self._dims.rms_norm_eps,
        )
        return outs[0], outs[3]


def rms_norm(graph: Graph, x: str, gain: str, epsilon: float) -> str:
    """x / sqrt(mean(x²) + ε) · gain over the last axis."""
    return graph.op("SimplifiedLayerNormalization", x, gain, axis=-1, epsilon=epsilon, stash_type=1)


def gated(graph: Graph, gate_up: str, width: int) -> str:
    """silu(gate) · up of stacked [1, S, 2·width]."""
    sizes = graph.const([width, width], np.int64)
    gate, up = graph.ops("Split", gate_up, sizes, outs=[graph.fresh("gate"), graph.fresh("up")], axis=-1)
    return graph.op("Mul", graph.op("QuickGelu", gate, domain=MICROSOFT, alpha=1.0), up)


def write_decoder(
    path: Path,
    dims: ModelDims,
    weights: Weights,
    precision: Precision,
    *,
    scales: SmoothScales | None = None,
    probe: bool = False,
    progress: steps.ProgressCallback = steps.ignore,
    cancel: threading.Event | None = None,
) -> None:
    """Write `llm.onnx` and its data file at `path`."""
    with Graph(path) as graph:
        DecoderWriter(graph, dims, weights, precision, scales).write(probe=probe, progress=progress, cancel=cancel)
