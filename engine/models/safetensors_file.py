"""Reads the table of a safetensors file (https://github.com/huggingface/safetensors, "Format").

Layout: u64 header length, a JSON header {name: {dtype, shape, data_offsets}}, then the data without holes. Read here
and not through the library, because its numpy door knows no bfloat16. Nothing of a damaged file is believed: every
offset is checked before use. Writing goes through the library.
"""

from __future__ import annotations

import json
import os
from functools import partial
from pathlib import Path
from typing import Any

from engine.models.stored_tensor import ITEM_BYTES, StoredTensor, byte_count, damaged

HEADER_LIMIT = 100_000_000  # bytes, the format's own limit


def open_safetensors(path: Path) -> dict[str, StoredTensor]:
    """Name → tensor, data left on disk. A file that breaks the format raises `CheckpointError`."""
    try:
        header, data_start, data_bytes = _header(path)
    except OSError as error:
        raise damaged(path, f"it cannot be read: {error.strerror or error}") from error
    header.pop("__metadata__", None)
    tensors: dict[str, StoredTensor] = {}
    spans: list[tuple[int, int]] = []
    for name, entry in header.items():
        dtype, shape, (begin, end) = _entry(path, name, entry)
        if not 0 <= begin <= end <= data_bytes:
            raise damaged(path, f"{name!r} reaches beyond the end of the file")
        if dtype in ITEM_BYTES and byte_count(dtype, shape) != end - begin:
            raise damaged(path, f"{name!r} has {end - begin} bytes, its shape asks for {byte_count(dtype, shape)}")
        spans.append((begin, end))
        read = partial(_read, path, data_start + begin, end - begin)
        tensors[name] = StoredTensor(name, dtype, shape, read)
    _check_cover(path, sorted(spans), data_bytes)
    return tensors


def _header(path: Path) -> tuple[dict[str, Any], int, int]:
    """The parsed header, where data starts, and how many bytes of data there are."""
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        length = int.from_bytes(file.read(8), "little")
        if size < 8 or length > min(HEADER_LIMIT, size - 8):
            raise damaged(path, f"its header says {length} bytes, the file has {size}")
        raw = file.read(length)
    try:
        header = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise damaged(path, "its header is not JSON") from error
    if not isinstance(header, dict):
        raise damaged(path, "its header is not a JSON object")
    return header, 8 + length, size - 8 - length


def _entry(path: Path, name: str, entry: Any) -> tuple[str, tuple[int, ...], tuple[int, int]]:
    """(dtype, shape, data_offsets) of one header entry."""
    if isinstance(entry, dict):
        dtype: Any = entry.get("dtype")
        shape: Any = entry.get("shape")
        offsets: Any = entry.get("data_offsets")
        if isinstance(dtype, str) and _is_counts(shape) and _is_counts(offsets) and len(offsets) == 2:
            return dtype, tuple(shape), (offsets[0], offsets[1])
    raise damaged(path, f"its header entry of {name!r} makes no sense")


def _is_counts(value: Any) -> bool:
    return isinstance(value, list) and all(type(v) is int and v >= 0 for v in value)


def _check_cover(path: Path, spans: list[tuple[int, int]], data_bytes: int) -> None:
    """Every byte of data belongs to exactly one tensor."""
    reached = 0
    for begin, end in spans:
        if begin != reached:
            raise damaged(path, "its tensors overlap or leave holes")
        reached = end
    if reached != data_bytes:
        raise damaged(path, f"its tensors end at byte {reached} of {data_bytes}")


def _read(path: Path, start: int, count: int) -> bytes:
    try:
        with path.open("rb") as file:
            file.seek(start)
            data = file.read(count)
    except OSError as error:
        raise damaged(path, f"it cannot be read: {error.strerror or error}") from error
    if len(data) != count:
        raise damaged(path, "it became shorter while it was read")
    return data
