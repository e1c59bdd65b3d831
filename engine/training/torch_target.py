"""The target in PyTorch: whole conversations in a batch, for hidden states, and batched decoding, for text.

ONNX Runtime's graphs of a model folder take one sequence at a time; a compact llama forward here takes many of
different lengths, on a processor or a GPU. Residual stream in float32, matrix products in `dtype`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from engine.models.dims import ModelDims
from engine.training.folder_weights import FolderWeights
from engine.training.slot_states import halved

_LOGIT_ROWS = 64  # as many as keep their logits in a processor's cache


class Hidden(NamedTuple):
    """What a pass over conversations leaves for the draft head, float16."""

    taps: Tensor  # [B, L, taps · hidden]
    last: Tensor  # [B, L, hidden], the stream after all layers, before the final norm
    top: Tensor  # [B, L] int32, the likeliest next token


def rotary(dims: ModelDims, positions: int, device: str) -> tuple[Tensor, Tensor]:
    """cos and sin [positions, head_dim / 2], half-split (arXiv 2104.09864)."""
    steps = torch.arange(0, dims.head_dim, 2, dtype=torch.float64) / dims.head_dim
    angles = torch.outer(torch.arange(positions, dtype=torch.float64), dims.rope_theta**-steps)
    return angles.cos().float().to(device), angles.sin().float().to(device)


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Turn [..., head_dim] by tables that broadcast to [..., head_dim / 2]."""
    low, high = x.chunk(2, dim=-1)
    return torch.cat((low * cos - high * sin, high * cos + low * sin), dim=-1)


class TorchTarget:
    """All weights in memory on one device."""

    def __init__(self, weights: FolderWeights, device: str, dtype: torch.dtype) -> None:
        self.dims = d = weights.dims
        self.device, self.dtype = device, dtype
        matrix, gain = self._putter(weights, dtype), self._putter(weights, torch.float32)
        self.embed = matrix("embed")  # [vocab, hidden]
        self.lm_head = matrix("lm_head")
        self.norm = gain("norm")
        names = ("qkv", "o", "gate_up", "down")
        self.layers: list[dict[str, Tensor]] = [
            {name: matrix(f"{i}.{name}") for name in names}
            | {name: gain(f"{i}.{name}") for name in ("attn_norm", "mlp_norm")}
            for i in range(d.layer_nums)
        ]
        self._cos, self._sin = rotary(d, d.context_length, device)

    def _putter(self, weights: FolderWeights, dtype: torch.dtype) -> Any:
        return lambda name: torch.from_numpy(weights(name)).to(self.device, dtype)

    @torch.no_grad()
    def hidden(self, ids: Tensor) -> Hidden:
        """One pass over conversations [B, L], padded at the end with anything."""
        d = self.dims
        cos, sin = self._cos[: ids.shape[1]], self._sin[: ids.shape[1]]
        stream = F.embedding(ids, self.embed).float()
        streams = {0: halved(stream)} if 0 in d.hidden_taps else {}
        for i, layer in enumerate(self.layers):
            q, k, v = self.split(self.normed(stream, layer["attn_norm"]), layer["qkv"])
            q, k = rotate(q, cos[:, None], sin[:, None]), rotate(k, cos[:, None], sin[:, None])
            groups = d.num_attention_heads // d.num_key_value_heads
            k, v = (x.repeat_interleave(groups, dim=2) for x in (k, v))
            parts = (x.to(self.dtype).transpose(1, 2) for x in (q, k, v))  # [B, heads, L, head_dim]
            attended = F.scaled_dot_product_attention(*parts, is_causal=True).transpose(1, 2).flatten(2)
            stream = self.finish_layer(stream, attended, layer)
            if i + 1 in d.hidden_taps:
                streams[i + 1] = halved(stream)
        taps = torch.cat([streams[k] for k in d.hidden_taps], dim=-1)
        last = halved(stream)
        return Hidden(taps, last, self.likeliest(self.final(last.flatten(0, 1))).view(ids.shape))

    def final(self, last: Tensor) -> Tensor:
        """The final norm: [..., hidden] float16 → what lm_head reads, in `dtype`."""
        return self.normed(last.float(), self.norm)

    def likeliest(self, final: Tensor) -> Tensor:
        """The best next token after each final state. [N, hidden] → [N] int32."""
        out = torch.empty(len(final), dtype=torch.int32, device=final.device)
        rows = _LOGIT_ROWS if self.device == "cpu" else len(final)
        for start in range(0, len(final), rows):
            logits = F.linear(final[start : start + rows], self.lm_head)
            out[start : start + rows] = logits.float().argmax(dim=-1)  # argmax of bfloat16 is slow on processors
        return out

    def split(self, x: Tensor, qkv: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Projections of x [..., hidden] as heads, [..., heads, head_dim] in `dtype`."""
        d = self.dims
        y = F.linear(x, qkv).unflatten(-1, (-1, d.head_dim))
        q, k, v = y.split((d.num_attention_heads, d.num_key_value_heads, d.num_key_value_heads), dim=-2)
        return q, k, v

    def normed(self, stream: Tensor, gain: Tensor) -> Tensor:
        """RMS norm in float32, result in `dtype`."""
        return F.rms_norm(stream, (stream.shape[-1],), gain, self.dims.rms_norm_eps).to(self.dtype)

    def finish_layer(self, stream: Tensor, attended: Tensor, layer: dict[str, Tensor]) -> Tensor:
        """Everything of a layer behind its attention."""
        stream = stream + F.linear(attended, layer["o"]).float()
        gate, up = F.linear(self.normed(stream, layer["mlp_norm"]), layer["gate_up"]).chunk(2, dim=-1)
        return stream + F.linear(F.silu(gate) * up, layer["down"]).float()
