"""The draft head in PyTorch, unrolled over its own outputs ("training-time test", EAGLE-3, arXiv 2503.01840).

Row t of step s pairs the embedding of token t + 1 + s with a hidden state: of the target's streams at t in step 0, of
the head's own output for row t of step s - 1 afterwards. It predicts token t + 2 + s. Only rows that have something
to predict pass the MLP and the vocabulary projection. The same network serves MTP heads, which read one stream.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from engine.models.eagle_config import EagleHeadConfig
from engine.training.torch_target import rotate
from engine.training.unrolled_attention import unrolled_attention

P = "layers.0"
Weights = Mapping[str, Tensor]  # float32, named as in `EagleCheckpoint.tensors`


class Step(NamedTuple):
    """What one unrolled step predicts from."""

    rows: Tensor  # [N] which rows of the flattened batch [B · L] have something to predict
    normed: Tensor  # [N, hidden] what lm_head reads, in the compute format


class HeadNet:
    """The computation of one head; holds no trainable weight. `embed`: the target's table [vocab, hidden]."""

    def __init__(self, config: EagleHeadConfig, embed: Tensor, positions: int) -> None:
        self.config = config
        self.embed = embed
        steps = torch.arange(0, config.head_dim, 2, dtype=torch.float64) / config.head_dim
        angles = torch.outer(torch.arange(positions, dtype=torch.float64), config.rope_theta**-steps)
        self._cos, self._sin = angles.cos().float().to(embed.device), angles.sin().float().to(embed.device)

    def unroll(
        self, weights: Weights, ids: Tensor, taps: Tensor, steps_left: Tensor, steps: int, later: int | None = None
    ) -> Iterator[Step]:
        """ids [B, L], taps [B, L, streams · hidden], steps_left [B, L]: steps for which a row has a prediction.

        `later`: only that many conversations, the first ones, go beyond step 0. Yields `steps` steps, fewer when no
        row is left.
        """
        dtype = self.embed.dtype
        w = _Cast(weights, dtype)
        rows, length = ids.shape
        embedded = self._normed(F.embedding(ids, self.embed).float(), weights[f"{P}.input_layernorm.weight"])
        from_embedding = F.linear(embedded, w.qkv_embedding)  # [B, L, q + k + v]; of token i, whatever the step
        hidden = F.linear(taps.to(dtype), w["fc.weight"]).float()  # [B, L, hidden]
        keys: list[Tensor] = []
        values: list[Tensor] = []
        for step in range(steps):
            if step == 1 and later is not None and later < rows:
                rows = later
                steps_left, hidden, from_embedding = steps_left[:rows], hidden[:rows], from_embedding[:rows]
                keys, values = [keys[0][:rows]], [values[0][:rows]]
            active = (steps_left > step).flatten().nonzero().squeeze(1)
            if len(active) == 0:
                return
            normed = self._normed(hidden, weights[f"{P}.hidden_norm.weight"])
            qkv = F.linear(normed, w.qkv_hidden) + _ahead(from_embedding, 1 + step)
            attended = self._attend(qkv, step, keys, values)
            residual = normed.float() if self.config.norm_before_residual else hidden
            out = self._finish(w, weights, residual.flatten(0, 1)[active], attended.flatten(0, 1)[active])
            yield Step(active, self._normed(out, weights["norm.weight"]))
            if step + 1 < steps:
                blank = torch.zeros(rows * length, out.shape[1], device=out.device)
                hidden = blank.index_copy(0, active, out).view_as(hidden)

    def _attend(self, qkv: Tensor, step: int, keys: list[Tensor], values: list[Tensor]) -> Tensor:
        """Packed projections [B, L, (heads + 2 · kv_heads) · head_dim] → [B, L, heads · head_dim]; grows the lists."""
        c = self.config
        heads, kv_heads, length = c.num_attention_heads, c.num_key_value_heads, qkv.shape[1]
        q, k, v = qkv.unflatten(-1, (-1, c.head_dim)).split((heads, kv_heads, kv_heads), dim=2)
        cos, sin = (table[step : step + length, None] for table in (self._cos, self._sin))
        q, k = (rotate(x.float(), cos, sin).to(qkv.dtype) for x in (q, k))
        k, v = (x.repeat_interleave(heads // kv_heads, dim=2) for x in (k, v))
        q, k, v = (x.transpose(1, 2) for x in (q, k, v))  # [B, heads, L, head_dim]
        keys.append(k)
        values.append(v)
        return unrolled_attention(q, keys, values).transpose(1, 2).flatten(2)

    def _finish(self, w: _Cast, weights: Weights, residual: Tensor, attended: Tensor) -> Tensor:
        """Everything behind attention, for chosen rows [N, ·] → [N, hidden] float32."""
        h = residual + F.linear(attended, w[f"{P}.self_attn.o_proj.weight"]).float()
        normed = self._normed(h, weights[f"{P}.post_attention_layernorm.weight"])
        gate, up = F.linear(normed, w.gate_up).chunk(2, dim=-1)
        return h + F.linear(F.silu(gate) * up, w[f"{P}.mlp.down_proj.weight"]).float()

    def _normed(self, x: Tensor, gain: Tensor) -> Tensor:
        return F.rms_norm(x, (x.shape[-1],), gain, self.config.rms_norm_eps).to(self.embed.dtype)


class _Cast:
    """Weights in the compute format, cast and stacked once per batch."""

    def __init__(self, weights: Weights, dtype: torch.dtype) -> None:
        self._weights, self._dtype = weights, dtype
        qkv = torch.cat([self[f"{P}.self_attn.{m}_proj.weight"] for m in "qkv"])
        self.qkv_embedding, self.qkv_hidden = qkv.chunk(2, dim=1)
        self.gate_up = torch.cat([self[f"{P}.mlp.{m}_proj.weight"] for m in ("gate", "up")])

    def __getitem__(self, name: str) -> Tensor:
        return self._weights[name].to(self._dtype)


def _ahead(x: Tensor, by: int) -> Tensor:
    """[B, L, ·] shifted left along L; the end is filled with zeros, which no row with a prediction reads."""
    return F.pad(x[:, by:], (0, 0, 0, min(by, x.shape[1])))
