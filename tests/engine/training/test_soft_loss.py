"""The sliced loss equals cross-entropy with soft targets, and so do its gradients."""

# ruff: noqa: E402
from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (the train extra)")

from engine.training import soft_loss as module
from engine.training.soft_loss import soft_loss, teacher_probabilities

ROWS, HIDDEN, VOCAB = 37, 12, 30


@pytest.fixture(autouse=True)
def _small_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several slices and slabs, the last ones not full."""
    monkeypatch.setattr(module, "SLICE", 5)
    monkeypatch.setattr(module, "SLAB", 15)


def test_equals_plain_cross_entropy() -> None:
    """Loss, gradients and guesses."""
    made = torch.Generator().manual_seed(0)
    x, head = (torch.randn(n, HIDDEN, generator=made).requires_grad_() for n in (ROWS, VOCAB))
    teacher = torch.randn(50, VOCAB, generator=made).softmax(dim=-1)
    at = torch.randint(0, 50, (ROWS,), generator=made)
    weight = torch.rand(ROWS, generator=made)
    found = soft_loss(x, head, teacher, at, weight)
    logits = x @ head.T
    wanted = (weight * -(teacher[at] * logits.log_softmax(dim=-1)).sum(dim=-1)).sum()
    assert torch.allclose(found.loss, wanted, rtol=1e-5)
    assert torch.equal(found.guess, logits.argmax(dim=-1))
    for a, b in zip(
        torch.autograd.grad(3 * found.loss, (x, head)), torch.autograd.grad(3 * wanted, (x, head)), strict=True
    ):
        assert torch.allclose(a, b, atol=1e-5)


def test_the_teacher_is_the_target_s_softmax_over_the_draft_vocabulary() -> None:
    """Rows of the target's lm_head, nothing else."""
    final, rows = torch.randn(23, HIDDEN), torch.randn(VOCAB, HIDDEN)
    assert torch.allclose(teacher_probabilities(final, rows), (final @ rows.T).softmax(dim=-1), atol=1e-6)
