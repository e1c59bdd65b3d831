"""Keeps the hidden states that batched decoding comes by, slot by slot, until a conversation is finished."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from engine.models.dims import ModelDims
from engine.training.state_rows import Rows, row_type

HALF = 65504.0  # largest float16


class SlotStates:
    """Rows of `slots` conversations of at most `capacity` tokens, in main memory."""

    def __init__(self, dims: ModelDims, slots: int, capacity: int) -> None:
        self._taps = dims.hidden_taps
        self._rows: Any = np.zeros((slots, capacity), row_type(dims))
        self._streams: dict[int, Tensor] = {}

    def note(self, layers: int, stream: Tensor) -> None:
        """The stream [S, n, hidden] after that many layers; kept if the draft head reads it."""
        if layers in self._taps:
            self._streams[layers] = halved(stream)

    def put(
        self, slots: Sequence[int], past: NDArray[np.int64], counts: NDArray[np.int64], last: Tensor, top: Tensor
    ) -> None:
        """Keep a pass. past, counts [S]; last [S, n, hidden] the stream after all layers; top [S] behind each's end."""
        taps = torch.cat([self._streams[k] for k in self._taps], dim=-1).cpu().numpy()
        ends, best = halved(last).cpu().numpy(), top.cpu().numpy()
        for row, (slot, start, count) in enumerate(zip(slots, past, counts, strict=True)):
            rows = self._rows[slot, start : start + count]
            rows["taps"], rows["last"], rows["top"] = taps[row, :count], ends[row, :count], 0
            rows["top"][-1] = best[row]

    def take(self, slot: int, read: int, length: int) -> Rows:
        """Rows of a conversation of `length` tokens of which `read` were read; zeros behind."""
        rows: Rows = self._rows[slot, :length].copy()
        rows[read:] = np.zeros((), rows.dtype)
        return rows


def halved(stream: Tensor) -> Tensor:
    """As float16, without infinities."""
    return stream.clamp(-HALF, HALF).half()
