"""The target's hidden states of a data set: kept in memory-mapped files, or made anew for every batch.

States that were written with the text are read where they lie. Others are computed when they are first asked for, so
training starts at once and the first pass fills the file. Stored states are float16, and computed ones are rounded to
it too: stored or not, the same computation gives the same numbers.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.lib.format import open_memmap

from engine.errors import ConfigError
from engine.models.dims import ModelDims
from engine.training.batches import Batch
from engine.training.conversations import DataSet
from engine.training.state_rows import Rows, row_type
from engine.training.torch_target import Hidden, TorchTarget

SPARE = 2_000_000_000  # bytes of the disk that stay free
_ABOUT = "hidden.json"
_FLUSH_EVERY = 200_000  # tokens


def store_bytes(tokens: int, dims: ModelDims) -> int:
    """Bytes of that many positions' streams, the last one and the likeliest token."""
    return tokens * row_type(dims).itemsize


class HiddenStore:
    """Hidden states by conversation. `folder` None: nothing is kept. `known`: rows of conversations that exist."""

    def __init__(
        self,
        data: DataSet,
        target: TorchTarget,
        folder: Path | None,
        name: str = "",
        known: Mapping[int, Rows] | None = None,
    ) -> None:
        self._data, self._target = data, target
        self._own: Any = None  # a memory map of the rows that are not known, or None where nothing is kept
        self._rows: list[Any] = []  # of each conversation
        self._mine: list[int] = []  # conversations whose rows are not known
        self._known = known or {}
        self._since_flush = 0
        if folder is not None:
            self._open(folder, name)

    @property
    def keeps(self) -> bool:
        """Whether states are stored."""
        return self._own is not None

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
        if self._own is None:
            return
        self._own.flush()
        self._on_disk[:-1] = self._done[self._mine]
        self._on_disk.flush()
        self._since_flush = 0

    def _open(self, folder: Path, name: str) -> None:
        own = self._mine = [i for i in range(len(self._data)) if i not in self._known]
        lengths = self._data.lengths
        tokens, kind = int(lengths[own].sum()), row_type(self._target.dims)
        folder.mkdir(parents=True, exist_ok=True)
        about = {"name": f"{DataSet.of(self._data[i] for i in own).key()} {name}", "tokens": tokens}
        if _read_json(folder / _ABOUT) != about:
            for path in folder.glob("*.npy"):
                path.unlink()
            check_space(folder, tokens * kind.itemsize)
        try:  # one row more, for a memory map cannot be empty
            self._own = _open_array(folder / "rows.npy", tokens + 1, kind)
            self._on_disk = _open_array(folder / "done.npy", len(own) + 1, np.dtype(np.uint8))
        except (OSError, ValueError) as error:
            raise ConfigError(f"The hidden states in {folder} cannot be used ({error}): delete that folder.") from None
        self._done = np.ones(len(self._data), np.uint8)
        self._done[own] = self._on_disk[:-1]
        ends = dict(zip(own, np.cumsum(lengths[own]).tolist(), strict=True))
        self._rows = [
            self._known[i] if i in self._known else self._own[ends[i] - int(lengths[i]) : ends[i]]
            for i in range(len(self._data))
        ]
        (folder / _ABOUT).write_text(json.dumps(about), encoding="utf-8")

    def _compute(self, batch: Batch) -> Hidden:
        return self._target.hidden(torch.from_numpy(batch.ids).to(self._target.device))

    def _keep(self, batch: Batch, found: Hidden) -> None:
        for row, i in enumerate(batch.which):
            if i in self._known:
                continue
            rows = self._rows[i]
            for key, values in found._asdict().items():
                rows[key] = values[row, : len(rows)].cpu().numpy()
            self._done[i] = 1
            self._since_flush += len(rows)
        if self._since_flush > _FLUSH_EVERY:
            self.flush()

    def _load(self, batch: Batch) -> Hidden:
        padded = np.zeros(batch.ids.shape, self._own.dtype)
        for row, i in enumerate(batch.which):
            padded[row, : len(self._rows[i])] = self._rows[i]
        device = self._target.device
        return Hidden(*(torch.from_numpy(np.ascontiguousarray(padded[key])).to(device) for key in Hidden._fields))


def check_space(folder: Path, needed: int) -> None:
    """Raise `ConfigError` if the disk of `folder` lacks room for `needed` bytes."""
    free = shutil.disk_usage(folder).free
    if free < needed + SPARE:
        raise ConfigError(
            f"The hidden states take {needed / 1e9:.1f} GB and {folder} has {free / 1e9:.1f} GB free: "
            "free some space, give another --work folder, or use --recompute."
        )


def _open_array(path: Path, rows: int, kind: Any) -> Any:
    """A memory map: what is there, or zeros."""
    if not path.exists():
        return open_memmap(path, mode="w+", shape=(rows,), dtype=kind)
    found = np.load(path, mmap_mode="r+", allow_pickle=False)
    if found.shape != (rows,) or found.dtype != kind:
        raise ValueError("another shape")
    return found


def _read_json(path: Path) -> object:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
