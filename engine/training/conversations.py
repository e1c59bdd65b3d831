"""Conversations as token ids with the spans that the assistant wrote: in memory, and in one .npz file.

Layout of the file: `ids` [tokens], `off` [conversations + 1], `spans` [n, 3] (conversation, first, end), `last`
[conversations], the id of the end-of-turn token that closed the last reply or -1 where it was cut. Plain numpy.
"""

from __future__ import annotations

import os
import zipfile
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from engine.errors import ConfigError

Ids = NDArray[np.int32]
_ARRAYS = ("ids", "off", "spans", "last")


@dataclass(frozen=True, slots=True, eq=False)
class Conversation:
    """Token ids [L], and the replies in it as (first, end): positions first…end-1 were written by the assistant."""

    ids: Ids
    spans: tuple[tuple[int, int], ...]

    @property
    def closed(self) -> bool:
        """Whether a reply reaches the very end, so that a last end-of-turn token is part of it."""
        return bool(self.spans) and self.spans[-1][1] == len(self.ids)

    def cut(self, length: int) -> Conversation:
        """At most the first `length` tokens."""
        if len(self.ids) <= length:
            return self
        spans = tuple((first, min(end, length)) for first, end in self.spans if first < length)
        return Conversation(self.ids[:length], spans)

    def key(self) -> int:
        """A number that depends on the ids alone."""
        digest = blake2b(np.ascontiguousarray(self.ids, "<i4").tobytes(), digest_size=8).digest()
        return int.from_bytes(digest, "little")


@dataclass(frozen=True, slots=True, eq=False)
class DataSet:
    """Many conversations in one array."""

    ids: Ids  # [tokens]
    off: NDArray[np.int64]  # [conversations + 1]
    spans: tuple[tuple[tuple[int, int], ...], ...]

    def __len__(self) -> int:
        return len(self.off) - 1

    def __getitem__(self, index: int) -> Conversation:
        return Conversation(self.ids[self.off[index] : self.off[index + 1]], self.spans[index])

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Tokens of each conversation."""
        return np.asarray(np.diff(self.off), np.int64)

    @property
    def tokens(self) -> int:
        """Tokens in all."""
        return int(self.off[-1])

    def reply_mask(self) -> NDArray[np.bool_]:
        """[tokens] which ones the assistant wrote."""
        mask = np.zeros(self.tokens, np.bool_)
        for start, spans in zip(self.off, self.spans, strict=False):
            for first, end in spans:
                mask[start + first : start + end] = True
        return mask

    def key(self) -> str:
        """A short name for exactly these conversations."""
        digest = blake2b(np.ascontiguousarray(self.ids, "<i4").tobytes(), digest_size=8)
        digest.update(np.ascontiguousarray(self.off, "<i8").tobytes())
        digest.update(repr(self.spans).encode())
        return digest.hexdigest()

    @classmethod
    def of(cls, conversations: Iterable[Conversation]) -> Self:
        """Put conversations together."""
        items = list(conversations)
        off = np.zeros(len(items) + 1, np.int64)
        np.cumsum([len(item.ids) for item in items], out=off[1:])
        ids = np.concatenate([item.ids for item in items]) if items else np.zeros(0, np.int32)
        return cls(ids.astype(np.int32), off, tuple(item.spans for item in items))


def load_data(paths: Sequence[Path], vocab: int, max_length: int) -> DataSet:
    """All conversations of some files, in order, each cut to `max_length` tokens, those without a reply left out.

    An end-of-turn token that the file holds only in `last` is appended. Raises `ConfigError` naming the file.
    """
    items: list[Conversation] = []
    for path in paths:
        data = read_file(path)
        if data.tokens and not 0 <= int(data.ids.min()) <= int(data.ids.max()) < vocab:
            raise ConfigError(f"{path.name} holds token ids outside the model's {vocab}: it is for another model.")
        items += [data[i].cut(max_length) for i in range(len(data))]
    kept = [item for item in items if item.spans]
    if not kept:
        raise ConfigError(f"There are no conversations in {', '.join(p.name for p in paths) or 'no file'}.")
    return DataSet.of(kept)


def read_file(path: Path) -> DataSet:
    """One file. Raises `ConfigError` where it is missing, damaged or contradicts itself."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            ids, off, spans, last = (np.asarray(stored[name]) for name in _ARRAYS)
    except FileNotFoundError:
        raise ConfigError(f"{path} does not exist: give a data file (.npz) or leave it out.") from None
    except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile, zlib.error):
        raise ConfigError(f"{path} is no data file of conversations (ids, off, spans, last) or is damaged.") from None
    fault = _fault(ids, off, spans, last)
    if fault:
        raise ConfigError(f"{path.name} is damaged ({fault}): make or fetch it again.")
    return DataSet.of(_conversations(ids, off, spans, last))


def write_file(path: Path, data: DataSet) -> None:
    """Write one file, whole or not at all; ids as uint16 where they fit."""
    rows = [(i, first, end) for i, spans in enumerate(data.spans) for first, end in spans]
    fits = data.tokens == 0 or int(data.ids.max()) < 2**16
    last = [int(item.ids[-1]) if item.closed else -1 for item in map(data.__getitem__, range(len(data)))]
    part = path.with_name(path.name + ".part")
    with part.open("wb") as file:
        np.savez_compressed(
            file,
            ids=data.ids.astype(np.uint16 if fits else np.int32),
            off=data.off,
            spans=np.array(rows, np.int32).reshape(-1, 3),
            last=np.array(last, np.int32),
        )
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)


def _fault(
    ids: NDArray[np.generic], off: NDArray[np.generic], spans: NDArray[np.generic], last: NDArray[np.generic]
) -> str:
    """What is wrong with the arrays, or nothing."""
    whole = all(np.issubdtype(a.dtype, np.integer) for a in (ids, off, spans, last))
    if not whole or ids.ndim != 1 or off.ndim != 1 or spans.ndim != 2 or spans.shape[1] != 3:
        return "wrong types or shapes"
    if len(off) < 1 or len(last) != len(off) - 1:
        return "off and last disagree"
    bounds = off.astype(np.int64)
    if bounds[0] != 0 or bounds[-1] != len(ids) or (np.diff(bounds) < 1).any():
        return "off does not divide the ids"
    rows = spans.astype(np.int64)
    if len(rows) and not (0 <= rows[:, 0].min() <= rows[:, 0].max() < len(last)):
        return "a span of no conversation"
    lengths = np.diff(bounds)[rows[:, 0]]
    if ((rows[:, 1] < 0) | (rows[:, 2] <= rows[:, 1]) | (rows[:, 2] > lengths + 1)).any():
        return "a span outside its conversation"
    return ""


def _conversations(
    ids: NDArray[np.generic], off: NDArray[np.generic], spans: NDArray[np.generic], last: NDArray[np.generic]
) -> Iterable[Conversation]:
    by_conversation: list[list[tuple[int, int]]] = [[] for _ in last]
    for owner, first, end in spans.astype(np.int64).tolist():
        by_conversation[owner].append((first, end))
    bounds, tokens, closing = off.astype(np.int64), ids.astype(np.int32), last.astype(np.int64)
    for i, found in enumerate(by_conversation):
        own = tokens[bounds[i] : bounds[i + 1]]
        beyond = any(end > len(own) for _, end in found)
        if beyond and closing[i] >= 0:
            own = np.append(own, np.int32(closing[i]))
        inside = [(first, min(end, len(own))) for first, end in sorted(found)]
        yield Conversation(own, tuple((first, end) for first, end in inside if first < end))
