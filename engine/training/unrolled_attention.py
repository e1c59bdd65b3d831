"""Attention of an unrolled draft step: all keys of step 0 up to the own row, plus the own row's keys of later steps.

Row t of step s sees step-0 rows 0…t and, of its own chain, steps 1…s at row t: the "training-time test" of EAGLE-3
(arXiv 2503.01840, section 3.2). The diagonal parts are joined to causal attention through its log-sum-exp, so no
[L, L] matrix is kept on a processor.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

Parts = list[Tensor]


def unrolled_attention(q: Tensor, keys: Parts, values: Parts) -> Tensor:
    """q [B, heads, L, d]; keys and values of steps 0…s, each [B, heads, L, d] → [B, heads, L, d]."""
    if q.device.type == "cpu" and hasattr(torch.ops.aten, "_scaled_dot_product_flash_attention_for_cpu"):
        out: Tensor = _Joined.apply(q, *keys, *values)
        return out
    return explicit_attention(q, keys, values)


def explicit_attention(q: Tensor, keys: Parts, values: Parts) -> Tensor:
    """The same by whole matrices of scores, in float32: for GPUs, and to check against."""
    rows, scale = q.shape[2], q.shape[3] ** -0.5
    past = torch.ones(rows, rows, dtype=torch.bool, device=q.device).tril()
    scores = (q @ keys[0].transpose(2, 3)).float().mul(scale).masked_fill(~past, float("-inf"))
    own = [(q * k).sum(-1, keepdim=True, dtype=torch.float32) * scale for k in keys[1:]]
    weights = torch.cat([scores, *own], dim=-1).softmax(dim=-1).to(q.dtype)
    out = weights[..., :rows] @ values[0]
    for i, v in enumerate(values[1:]):
        out = out + weights[..., rows + i, None] * v
    return out


class _Joined(torch.autograd.Function):
    """Flash attention over step 0 joined with the diagonals.

    Flash attention's own backward, given the joined output and the joined log-sum-exp, yields the gradients of its
    part of the joined softmax, as in ring attention (arXiv 2310.01889).
    """

    @staticmethod
    def forward(ctx: Any, q: Tensor, *parts: Tensor) -> Tensor:
        half, scale = len(parts) // 2, q.shape[3] ** -0.5
        keys, values = parts[:half], parts[half:]
        flash = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
        out, lse = flash(q, keys[0], values[0], 0.0, True)
        own = [(q * k).sum(-1, dtype=torch.float32) * scale for k in keys[1:]]  # [B, heads, L]
        total = torch.stack([lse, *own]).logsumexp(dim=0) if own else lse
        if own:
            out = out * (lse - total).exp().unsqueeze(-1).to(out.dtype)
            for score, v in zip(own, values[1:], strict=True):
                out = out + (score - total).exp().unsqueeze(-1).to(out.dtype) * v
        ctx.save_for_backward(q, out, total, *own, *parts)
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, ...]:
        q, out, total, *rest = ctx.saved_tensors
        steps = (len(rest) + 1) // 3
        own, keys, values = rest[: steps - 1], rest[steps - 1 : 2 * steps - 1], rest[2 * steps - 1 :]
        grad, scale = grads[0].contiguous(), q.shape[3] ** -0.5
        flash_backward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward
        dq, dk, dv = flash_backward(grad, q, keys[0], values[0], out, total, 0.0, True)
        share = (grad * out).sum(-1, dtype=torch.float32) if own else None
        dkeys, dvalues = [dk], [dv]
        for score, k, v in zip(own, keys[1:], values[1:], strict=True):
            weight = (score - total).exp()  # [B, heads, L]
            dscore = weight * ((grad * v).sum(-1, dtype=torch.float32) - share) * scale
            dscore = dscore.unsqueeze(-1).to(q.dtype)
            dq = dq + dscore * k
            dkeys.append(dscore * q)
            dvalues.append(weight.unsqueeze(-1).to(q.dtype) * grad)
        return (dq, *dkeys, *dvalues)
