"""Hidden states of conversations as rows of a file, one per token: written once, read as a memory map.

A file of text may have one beside it, `NAME.states`, with `NAME.states.json` to say what made it; without that, or
where it does not fit, the states are simply computed. Knows files and rows; no model and no PyTorch.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.models.dims import ModelDims
from engine.training.conversations import DataSet, read_file

Rows = NDArray[np.void]  # [tokens] of `row_type`


def row_type(dims: ModelDims) -> np.dtype[np.void]:
    """`taps` and `last` float16, `top` the likeliest next token (0 inside prompts, where nothing asks for it)."""
    hidden = dims.hidden_size
    taps = (len(dims.hidden_taps) * hidden,)
    return np.dtype([("taps", np.float16, taps), ("last", np.float16, (hidden,)), ("top", np.int32)])


def states_beside(path: Path) -> Path:
    """The file of states of a file of text."""
    return path.with_suffix(".states")


class RowWriter:
    """Rows of the states of one file of text, added conversation by conversation."""

    def __init__(self, text: Path) -> None:
        self._path = states_beside(text)
        self._part = self._path.with_name(self._path.name + ".part")
        self._about = _about(self._path)
        self._about.unlink(missing_ok=True)
        self._file = self._part.open("wb")
        self._tokens = 0

    def add(self, rows: Rows) -> None:
        """The states of a conversation."""
        self._file.write(np.ascontiguousarray(rows).tobytes())
        self._tokens += len(rows)

    def finish(self, name: str) -> None:
        """Put the file in its place. `name`: what made it; only the same name reads it again."""
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        self._part.replace(self._path)
        self._about.write_text(json.dumps({"name": name, "tokens": self._tokens}), encoding="utf-8")


def read_rows(text: Path, name: str, kind: np.dtype[np.void], tokens: int) -> Rows | None:
    """The states beside a file of text of that many tokens; None if there are none that `name` made."""
    path = states_beside(text)
    try:
        about = json.loads(_about(path).read_text(encoding="utf-8"))
        fits = about == {"name": name, "tokens": tokens} and path.stat().st_size == tokens * kind.itemsize
        return np.memmap(path, kind, mode="r") if fits and tokens else None
    except (OSError, ValueError):
        return None


def known_rows(texts: Sequence[Path], data: DataSet, name: str, kind: np.dtype[np.void]) -> dict[int, Rows]:
    """Conversation of `data` → its rows, where they lie beside one of the files that `data` was loaded from."""
    wanted: dict[bytes, list[int]] = {}
    for i in range(len(data)):
        wanted.setdefault(data[i].ids.tobytes(), []).append(i)
    longest = int(data.lengths.max()) if len(data) else 0
    found: dict[int, Rows] = {}
    for path in texts:
        if not states_beside(path).exists():
            continue
        text = read_file(path)
        rows: Any = read_rows(path, name, kind, text.tokens)
        if rows is None:
            continue
        for i, start in enumerate(text.off[:-1]):
            ids = text[i].cut(longest).ids
            found |= {at: rows[start : start + len(ids)] for at in wanted.get(ids.tobytes(), [])}
    return found


def _about(states: Path) -> Path:
    return states.with_name(states.name + ".json")
