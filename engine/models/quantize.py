"""Weights to eight bits: in blocks along the input, or one scale per output column.

Pure numpy. Layouts are those of ONNX Runtime's `MatMulNBits` and `MatMulIntegerToFloat`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

BLOCK = 64


class BlockWeights(NamedTuple):
    """`MatMulNBits` operands for weights [N, K]."""

    values: NDArray[np.uint8]  # [N, K / BLOCK, BLOCK], zero point 128
    scales: NDArray[np.float32]  # [N, K / BLOCK]


class ColumnWeights(NamedTuple):
    """`MatMulIntegerToFloat` operands for weights [N, K]."""

    values: NDArray[np.int8]  # [K, N]
    scales: NDArray[np.float32]  # [N]


def to_blocks(weight: NDArray[np.float32], block: int = BLOCK) -> BlockWeights:
    """Symmetric 8 bits, a scale per `block` inputs of each output row; K is padded with zeros to whole blocks."""
    rows, cols = weight.shape
    padded = np.pad(weight, ((0, 0), (0, -cols % block))).reshape(rows, -1, block)  # [N, K/block, block]
    scales = np.abs(padded).max(axis=2) / np.float32(127)  # [N, K/block]
    safe = np.where(scales == 0, np.float32(1), scales)
    values = np.rint(padded / safe[:, :, None]) + 128
    return BlockWeights(values.astype(np.uint8), scales.astype(np.float32))


def to_columns(weight: NDArray[np.float32], limit: int = 127) -> ColumnWeights:
    """Symmetric 8 bits, one scale per output row of [N, K]; stored transposed as [K, N].

    `limit` 63 keeps int16 sums of pairs from saturating on processors without VNNI (ONNX Runtime PR 12088).
    """
    scales = np.abs(weight).max(axis=1) / np.float32(limit)  # [N]
    safe = np.where(scales == 0, np.float32(1), scales)
    values = np.rint(weight / safe[:, None]).astype(np.int8)
    return ColumnWeights(np.ascontiguousarray(values.T), scales.astype(np.float32))
