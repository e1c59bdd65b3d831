"""The header of a GGUF file: its metadata and its table of tensors, with every length checked against the file.

The `gguf` library's own reader trusts the counts in the file, so a damaged one makes it loop or allocate without
end, and it needs seconds for a large vocabulary. This reads the same layout with that library's constants; it knows
nothing of architectures. Layout: the GGUF specification, versions 2 and 3, little-endian.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, NoReturn

import numpy as np
from gguf.constants import GGML_QUANT_SIZES, GGUF_DEFAULT_ALIGNMENT, GGMLQuantizationType, GGUFValueType

from engine.models.gguf_metadata import refuse

MAGIC = b"GGUF"
_MAX_DIMS = 4
_MAX_ELEMENTS = 2**40
_MAX_NAME = 2**16
_MAX_TEXTS = 2**22
_SCALARS: dict[GGUFValueType, str] = {
    GGUFValueType.UINT8: "<u1",
    GGUFValueType.INT8: "<i1",
    GGUFValueType.UINT16: "<u2",
    GGUFValueType.INT16: "<i2",
    GGUFValueType.UINT32: "<u4",
    GGUFValueType.INT32: "<i4",
    GGUFValueType.FLOAT32: "<f4",
    GGUFValueType.UINT64: "<u8",
    GGUFValueType.INT64: "<i8",
    GGUFValueType.FLOAT64: "<f8",
    GGUFValueType.BOOL: "?",
}


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """Where one tensor lies: `shape` as numpy orders it (rows first), `offset` in bytes from the start of the file."""

    name: str
    kind: GGMLQuantizationType
    shape: tuple[int, ...]
    offset: int
    size: int


class _Entry(NamedTuple):
    """One line of the file's table of tensors, as it stands there."""

    name: str
    shape: tuple[int, ...]
    kind: int
    offset: int


@dataclass(frozen=True, slots=True)
class GgufHeader:
    """Metadata by key (bool, int, float, str, list of str, numpy array) and tensors by GGUF name."""

    metadata: dict[str, Any]
    tensors: dict[str, TensorInfo]


def read_header(file: BinaryIO, size: int, path: Path) -> GgufHeader:
    """Parse the header of a file of `size` bytes. Whatever does not add up raises `ModelFileError` naming `path`."""
    return _Parser(file, size, path).header()


class _Parser:
    """Reads forward, and never reads, loops or allocates past what the file holds."""

    def __init__(self, file: BinaryIO, size: int, path: Path) -> None:
        self._file = file
        self._size = size
        self._path = path
        self._at = 0

    def header(self) -> GgufHeader:
        if self._size < 4 or self._take(4) != MAGIC:
            self._fail("is not a GGUF file; give a file that starts with the letters GGUF")
        self._version()
        tensor_count, key_count = self._u64(), self._u64()
        metadata: dict[str, Any] = {}
        for _ in range(self._count(key_count, 13)):
            key = self._text(_MAX_NAME)
            if key in metadata:
                self._fail(f"is damaged: metadata {key!r} stands in it twice")
            metadata[key] = self._value(self._value_type(), depth=0)
        entries: dict[str, _Entry] = {}
        for _ in range(self._count(tensor_count, 32)):
            entry = self._entry()
            if entry.name in entries:
                self._fail(f"is damaged: tensor {entry.name!r} stands in it twice")
            entries[entry.name] = entry
        alignment = self._alignment(metadata)
        start = -(-self._at // alignment) * alignment
        return GgufHeader(metadata, {name: self._place(entry, start) for name, entry in entries.items()})

    def _version(self) -> None:
        version = self._u32()
        if version & 0xFFFF == 0:
            self._fail("is a big-endian GGUF file, which is not supported; use the little-endian one")
        if version not in (2, 3):
            self._fail(f"is GGUF version {version}, and only versions 2 and 3 are supported; convert it again")

    def _value(self, kind: GGUFValueType, depth: int) -> Any:
        if kind is GGUFValueType.STRING:
            return self._text()
        if kind is not GGUFValueType.ARRAY:
            return np.frombuffer(self._take(np.dtype(_SCALARS[kind]).itemsize), _SCALARS[kind])[0].item()
        if depth:
            self._fail("is not supported: its metadata holds lists inside lists")
        inner, count = self._value_type(), self._u64()
        if inner in _SCALARS:
            size = np.dtype(_SCALARS[inner]).itemsize
            return np.frombuffer(self._take(self._count(count, size) * size), _SCALARS[inner])
        if count > _MAX_TEXTS:
            self._fail(f"is damaged: it claims a list of {count} texts")
        return [self._value(inner, depth + 1) for _ in range(self._count(count, 8))]

    def _entry(self) -> _Entry:
        name, n_dims = self._text(_MAX_NAME), self._u32()
        if not 1 <= n_dims <= _MAX_DIMS:
            self._fail(f"is damaged: tensor {name!r} claims {n_dims} dimensions")
        shape = tuple(self._u64() for _ in range(n_dims))[::-1]
        return _Entry(name, shape, self._u32(), self._u64())

    def _place(self, entry: _Entry, start: int) -> TensorInfo:
        """The tensor of a table entry, in a file whose tensor data begins at byte `start`."""
        kind = self._tensor_type(entry)
        block, block_bytes = GGML_QUANT_SIZES[kind]
        elements = math.prod(entry.shape)
        if not 0 < elements < _MAX_ELEMENTS or entry.shape[-1] % block:
            self._fail(f"is damaged: tensor {entry.name!r} claims the shape {list(entry.shape)}")
        size = elements // block * block_bytes
        if start + entry.offset + size > self._size:
            self._fail(f"is cut short: tensor {entry.name!r} lies past its end; download it again")
        return TensorInfo(entry.name, kind, entry.shape, start + entry.offset, size)

    def _tensor_type(self, entry: _Entry) -> GGMLQuantizationType:
        try:
            return GGMLQuantizationType(entry.kind)
        except ValueError:
            self._fail(f"has tensor {entry.name!r} of unknown type {entry.kind}; convert it to a type such as Q8_0")

    def _value_type(self) -> GGUFValueType:
        raw = self._u32()
        try:
            return GGUFValueType(raw)
        except ValueError:
            self._fail(f"is damaged: metadata type {raw} does not exist (byte {self._at - 4})")

    def _alignment(self, metadata: dict[str, Any]) -> int:
        value = metadata.get("general.alignment", GGUF_DEFAULT_ALIGNMENT)
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 2**20 or value & (value - 1):
            self._fail(f"is damaged: general.alignment is {value!r}, not a power of two")
        return value

    def _count(self, count: int, smallest: int) -> int:
        """`count`, if that many items of at least `smallest` bytes can lie in the rest of the file."""
        if count * smallest > self._size - self._at:
            self._cut_short()
        return count

    def _text(self, longest: int | None = None) -> str:
        length = self._u64()
        if longest is not None and length > longest:
            self._fail(f"is damaged: a name of {length} bytes stands at byte {self._at}")
        raw = self._take(length)
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError:
            self._fail(f"is damaged: the text at byte {self._at - length} is not UTF-8")

    def _u32(self) -> int:
        return int(struct.unpack("<I", self._take(4))[0])

    def _u64(self) -> int:
        return int(struct.unpack("<Q", self._take(8))[0])

    def _take(self, size: int) -> bytes:
        if size > self._size - self._at:
            self._cut_short()
        data = self._file.read(size)
        if len(data) < size:
            self._cut_short()
        self._at += size
        return data

    def _cut_short(self) -> NoReturn:
        self._fail(f"is cut short or damaged: its header ends past byte {self._size}; download it again")

    def _fail(self, what: str) -> NoReturn:
        refuse(self._path, what)
