"""The target's hidden states of a data set: made once, kept in memory-mapped files, or made anew for every batch.

A conversation's states are computed when they are first asked for, so training starts at once and the first pass
fills the files. Stored states are float16, and computed ones are rounded to it too: both ways give the same numbers.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.lib.format import open_memmap

from engine.errors import ConfigError
from engine.training.batches import Batch
from engine.training.conversations import DataSet
from engine.training.torch_target import Hidden, TorchTarget

SPARE = 2_000_000_000  # bytes of the disk that stay free
_ABOUT = "hidden.json"
_FLUSH_EVERY = 200_000  # tokens


def store_bytes(data: DataSet, width: int) -> int:
    """Bytes of the files: three streams, the last one and the likeliest token of every position."""
    return data.tokens * (4 * width * 2 + 4)


class HiddenStore:
    """Hidden states by conversation. `folder` None: nothing is kept."""

    def __init__(self, data: DataSet, target: TorchTarget, folder: Path | None, name: str) -> None:
        self._data, self._target = data, target
        self._taps: Any = None  # a memory map, or None where nothing is kept
        self._since_flush = 0
        if folder is not None:
            self._open(folder, name)

    @property
    def keeps(self) -> bool:
        """Whether states are stored."""
        return self._taps is not None

    @property
    def missing(self) -> int:
        """Tokens whose states are not stored."""
        return int(self._data.lengths[self._done == 0].sum()) if self.keeps else self._data.tokens

    def holds(self, batch: Batch) -> bool:
        """Whether all states of a batch are stored."""
        return self.keeps and all(self._done[i] for i in batch.which)

    def batch(self, batch: Batch) -> Hidden:
        """States of a batch [B, L, ·] on the target's device; zeros behind the end of a conversation."""
        if not self.keeps:
            return self._compute(batch)
        if not self.holds(batch):  # the whole batch at once, so that what is computed does not depend on what is there
            self._keep(batch, self._compute(batch))
        return self._load(batch)

    def flush(self) -> None:
        """Put everything on the disk: states first, then the note that they are there."""
        if self._taps is None:
            return
        for array in (self._taps, self._last, self._top):
            array.flush()
        self._on_disk[:] = self._done
        self._on_disk.flush()
        self._since_flush = 0

    def _open(self, folder: Path, name: str) -> None:
        d, tokens = self._target.dims, self._data.tokens
        about = {"name": name, "tokens": tokens, "width": d.hidden_size, "taps": list(d.hidden_taps)}
        folder.mkdir(parents=True, exist_ok=True)
        known = _read_json(folder / _ABOUT)
        if known != about:
            for path in folder.glob("*.npy"):
                path.unlink()
            check_space(folder, store_bytes(self._data, d.hidden_size))
        shapes: dict[str, tuple[tuple[int, ...], Any]] = {
            "taps": ((tokens, len(d.hidden_taps) * d.hidden_size), np.float16),
            "last": ((tokens, d.hidden_size), np.float16),
            "top": ((tokens,), np.int32),
            "done": ((len(self._data),), np.uint8),
        }
        try:
            arrays = [
                np.load(path, mmap_mode="r+", allow_pickle=False)
                if (path := folder / f"{key}.npy").exists()
                else open_memmap(path, mode="w+", shape=shape, dtype=dtype)
                for key, (shape, dtype) in shapes.items()
            ]
        except (OSError, ValueError) as error:
            raise ConfigError(f"The hidden states in {folder} cannot be used ({error}): delete that folder.") from None
        self._taps, self._last, self._top, self._on_disk = arrays
        self._done = np.array(self._on_disk)
        (folder / _ABOUT).write_text(json.dumps(about), encoding="utf-8")

    def _compute(self, batch: Batch) -> Hidden:
        return self._target.hidden(torch.from_numpy(batch.ids).to(self._target.device))

    def _keep(self, batch: Batch, found: Hidden) -> None:
        for row, i in enumerate(batch.which):
            start, end = self._data.off[i], self._data.off[i + 1]
            for array, values in zip((self._taps, self._last, self._top), found, strict=True):
                array[start:end] = values[row, : end - start].cpu().numpy()
            self._done[i] = 1
            self._since_flush += int(end - start)
        if self._since_flush > _FLUSH_EVERY:
            self.flush()

    def _load(self, batch: Batch) -> Hidden:
        rows, length = batch.ids.shape
        out = []
        for array in (self._taps, self._last, self._top):
            padded = np.zeros((rows, length, *array.shape[1:]), array.dtype)
            for row, i in enumerate(batch.which):
                start, end = self._data.off[i], self._data.off[i + 1]
                padded[row, : end - start] = array[start:end]
            out.append(torch.from_numpy(padded).to(self._target.device))
        taps, last, top = out
        return Hidden(taps, last, top)


def check_space(folder: Path, needed: int) -> None:
    """Raise `ConfigError` if the disk of `folder` lacks room for `needed` bytes."""
    free = shutil.disk_usage(folder).free
    if free < needed + SPARE:
        raise ConfigError(
            f"The hidden states take {needed / 1e9:.1f} GB and {folder} has {free / 1e9:.1f} GB free: "
            "free some space, give another --work folder, or use --recompute."
        )


def _read_json(path: Path) -> object:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
