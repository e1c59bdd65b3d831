"""Keys and values of all layers in one buffer, used in place by the graphs.

Rows are appended by the graph itself (past and present are the same memory); here they are only counted, kept and
dropped, and it is known how many from the start are as a prefill leaves them. Knows nothing of tokens or models.
"""

from __future__ import annotations

import math
import mmap
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from engine.errors import ContextFull


class KVCache:
    """`data` is [2·layers, kv_heads, capacity, head_dim] float32: key of layer i at 2i, its value at 2i + 1.

    `canonical`: so many rows from 0 on are, to the last bit, those that reading their tokens as a prompt would leave. A
    row that is not ends them for good: the rows behind it have read it.

    The memory is reserved for the whole context but the system only hands out the pages that rows have touched.
    """

    def __init__(self, layers: int, kv_heads: int, head_dim: int, capacity: int) -> None:
        self.data = _reserve((2 * layers, kv_heads, capacity, head_dim))
        self.capacity = capacity
        self.length = 0  # committed rows
        self.canonical = 0

    def layer(self, index: int, kind: str) -> NDArray[np.float32]:
        """A view [1, kv_heads, capacity, head_dim] of the keys or values of one layer."""
        view: NDArray[np.float32] = self.data[2 * index + (kind == "value")][None]
        return view

    def room_for(self, rows: int) -> None:
        """Raise `ContextFull` unless `rows` more fit."""
        if self.length + rows > self.capacity:
            raise ContextFull(f"The context is full: {self.capacity} tokens fit and {self.length + rows} are needed.")

    def advance(self, rows: int) -> None:
        """Commit rows that the last pass appended."""
        self.keep(range(rows))

    def truncate(self, length: int) -> None:
        """Drop all rows from `length` on."""
        if not 0 <= length <= self.length:
            raise ValueError(f"cannot truncate {self.length} rows to {length}")
        self.length = length
        self.canonical = min(self.canonical, length)

    def keep(self, rows: Sequence[int], *, canonical: bool = True) -> None:
        """Commit only `rows` of those the last pass appended (offsets from `length`, increasing).

        `canonical`: that pass gave rows in their own place the bits of a prefill; a moved row never has them.
        MNN's remove + reserve. Rows already in place are not touched; the others are gathered first, then written,
        so overlapping moves cannot happen.
        """
        if any(b <= a for a, b in pairwise(rows)) or (rows and rows[0] < 0):
            raise ValueError(f"rows to keep must increase: {list(rows)}")
        self.room_for(len(rows))
        moved = [(to, source) for to, source in enumerate(rows) if to != source]
        if moved:
            first = self.length + moved[0][0]
            sources = [self.length + source for _, source in moved]
            if sources[-1] >= self.capacity:
                raise ValueError(f"row {rows[-1]} is outside the cache")
            self.data[:, :, first : first + len(moved)] = self.data[:, :, sources]
        if canonical and self.canonical == self.length:
            self.canonical += moved[0][0] if moved else len(rows)
        self.length += len(rows)


def _reserve(shape: tuple[int, ...]) -> NDArray[np.float32]:
    """float32 memory of which only touched pages count.

    Not `np.empty`: numpy asks for huge pages, and a huge page holds a head's rows for the whole context, so one token
    would take as much memory as a full context (measured: 430 MB instead of 2).
    """
    memory = mmap.mmap(-1, max(1, math.prod(shape)) * 4)
    if hasattr(mmap, "MADV_NOHUGEPAGE"):
        memory.madvise(mmap.MADV_NOHUGEPAGE)
    return np.frombuffer(memory, np.float32, math.prod(shape)).reshape(shape)
