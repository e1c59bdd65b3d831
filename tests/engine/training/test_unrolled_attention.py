"""Attention of unrolled steps equals the definition, forwards and backwards."""

# ruff: noqa: E402
from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (the train extra)")

from engine.training.unrolled_attention import explicit_attention, unrolled_attention

SHAPE = (2, 3, 17, 8)  # batch, heads, rows, head_dim


def parts(steps: int) -> tuple[object, list[object], list[object]]:
    """Random queries of the last step, and keys and values of all."""
    made = torch.Generator().manual_seed(steps)
    q, *rest = (torch.randn(SHAPE, generator=made).requires_grad_() for _ in range(1 + 2 * steps))
    return q, rest[:steps], rest[steps:]


def one_row(q: object, keys: list[object], values: list[object], row: int) -> object:
    """The definition for one row: step-0 rows up to its own, then its own rows of later steps."""
    k = torch.cat([keys[0][:, :, : row + 1], *(key[:, :, row : row + 1] for key in keys[1:])], dim=2)
    v = torch.cat([values[0][:, :, : row + 1], *(value[:, :, row : row + 1] for value in values[1:])], dim=2)
    scores = (q[:, :, row : row + 1] @ k.transpose(2, 3)) / SHAPE[3] ** 0.5
    return scores.softmax(dim=-1) @ v


@pytest.mark.parametrize("attention", [unrolled_attention, explicit_attention])
@pytest.mark.parametrize("steps", [1, 2, 4])
def test_every_row_equals_the_definition(attention: object, steps: int) -> None:
    """A row that saw a later row, or another chain, would know the answer in training and not in use."""
    q, keys, values = parts(steps)
    found = attention(q, keys, values)
    for row in range(SHAPE[2]):
        wanted = one_row(q, keys, values, row)
        assert torch.allclose(found[:, :, row : row + 1], wanted, atol=1e-5)


@pytest.mark.parametrize("steps", [1, 3])
def test_gradients_equal_autograd_through_the_definition(steps: int) -> None:
    """The joined backward pass is written by hand."""
    q, keys, values = parts(steps)
    weight = torch.randn(SHAPE, generator=torch.Generator().manual_seed(9))
    wanted = torch.cat([one_row(q, keys, values, row) for row in range(SHAPE[2])], dim=2)
    leaves = [q, *keys, *values]
    expected = torch.autograd.grad((wanted * weight).sum(), leaves)
    for attention in (unrolled_attention, explicit_attention):
        found = torch.autograd.grad((attention(q, keys, values) * weight).sum(), leaves)
        for a, b in zip(found, expected, strict=True):
            assert torch.allclose(a, b, atol=1e-5)
