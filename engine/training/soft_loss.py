"""Cross-entropy with soft targets through the vocabulary projection, a slice of rows at a time.

Neither the logits nor their gradients of a whole batch are ever in memory: gradients are made in the forward pass,
while the slice is in the processor's cache.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

SLICE = 256  # rows whose logits are made at once
SLAB = 2048  # rows whose gradients of logits are kept for one large product


class SoftLoss(NamedTuple):
    """Sums over rows; only `loss` has a gradient."""

    loss: Tensor  # [] Σ weight · cross-entropy
    guess: Tensor  # [N] the likeliest draft token of each row


def soft_loss(x: Tensor, lm_head: Tensor, teacher: Tensor, at: Tensor, weight: Tensor) -> SoftLoss:
    """x [N, hidden], lm_head [Vd, hidden], teacher [M, Vd] probabilities, of which row i of x learns `at[i]`,
    weight [N] float32."""
    loss, guess = _SlicedLoss.apply(x, lm_head, teacher, at, weight)
    return SoftLoss(loss, guess)


def teacher_probabilities(final: Tensor, lm_head: Tensor) -> Tensor:
    """The target's distribution over the draft vocabulary. final [M, hidden], lm_head [Vd, hidden] → [M, Vd]."""
    out = torch.empty(len(final), len(lm_head), dtype=lm_head.dtype, device=final.device)
    for start in range(0, len(final), SLICE):
        logits = torch.nn.functional.linear(final[start : start + SLICE], lm_head)
        out[start : start + SLICE] = logits.float().softmax(dim=-1)
    return out


class _SlicedLoss(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, lm_head: Tensor, teacher: Tensor, at: Tensor, weight: Tensor
    ) -> tuple[Tensor, Tensor]:
        grad_x = torch.empty_like(x)
        grad_head = torch.zeros(lm_head.shape, dtype=torch.float32, device=x.device)
        guess = torch.empty(len(x), dtype=torch.int64, device=x.device)
        loss = torch.zeros((), device=x.device)
        slab = torch.empty(min(SLAB, len(x)), len(lm_head), dtype=x.dtype, device=x.device)
        for start in range(0, len(x), SLAB):
            part = slice(start, min(start + SLAB, len(x)))
            grads = slab[: part.stop - part.start]
            loss += _slices(x[part], lm_head, teacher, at[part], weight[part], grads, guess[part])
            grad_x[part] = grads @ lm_head
            grad_head += grads.T @ x[part]
        ctx.save_for_backward(grad_x, grad_head)
        ctx.head_dtype = lm_head.dtype
        ctx.mark_non_differentiable(guess)
        return loss, guess

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        grad_x, grad_head = ctx.saved_tensors
        return grad_x * grads[0], (grad_head * grads[0]).to(ctx.head_dtype), None, None, None


def _slices(
    x: Tensor, lm_head: Tensor, teacher: Tensor, at: Tensor, weight: Tensor, grads: Tensor, guess: Tensor
) -> Tensor:
    """Fill `grads` [N, Vd] and `guess` [N] for some rows; returns their loss."""
    loss = torch.zeros((), device=x.device)
    for start in range(0, len(x), SLICE):
        rows = slice(start, start + SLICE)
        logits = (x[rows] @ lm_head.T).float()
        top, guess[rows] = logits.max(dim=-1)
        wanted = teacher[at[rows]].float()
        drawn = logits.softmax(dim=-1)
        log_sum = top - drawn.amax(dim=-1).log()  # log Σ exp(logits), from the softmax that is needed anyway
        loss += (weight[rows] * (log_sum - torch.linalg.vecdot(wanted, logits))).sum()
        grads[rows] = drawn.sub_(wanted).mul_(weight[rows, None])
    return loss
