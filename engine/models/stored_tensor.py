"""A tensor in a checkpoint file that is not read yet, and how its bytes become numbers.

Knows element types (named as in safetensors: F16, BF16, I64 ...), not containers and not what a tensor is for.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engine.errors import CheckpointError

ITEM_BYTES = dict.fromkeys(("BOOL", "U8", "I8", "F8_E4M3", "F8_E5M2"), 1)
ITEM_BYTES |= dict.fromkeys(("U16", "I16", "F16", "BF16"), 2)
ITEM_BYTES |= dict.fromkeys(("U32", "I32", "F32"), 4)
ITEM_BYTES |= dict.fromkeys(("U64", "I64", "F64"), 8)
_INTEGERS = {"BOOL": "?", "U8": "u1", "I8": "i1", "I16": "<i2", "I32": "<i4", "I64": "<i8"}


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """Name, type, shape, and a way to fetch the bytes (little-endian, row-major). Reading raises `CheckpointError`."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    read: Callable[[], bytes]

    def floats(self) -> NDArray[np.float32]:
        """The values as float32, shape unchanged. F16, BF16 and F32 only; every value must be finite."""
        if self.dtype not in ("F16", "BF16", "F32"):
            raise CheckpointError(
                f"{self.name} is stored as {self.dtype}: quantized heads are not supported, get the one in "
                "float16, bfloat16 or float32."
            )
        data = self.read()
        if self.dtype == "BF16":  # the upper half of a float32
            values = (np.frombuffer(data, "<u2").astype(np.uint32) << 16).view(np.float32)
        else:
            with np.errstate(invalid="ignore"):
                values = np.frombuffer(data, "<f2" if self.dtype == "F16" else "<f4").astype(np.float32)
        if not np.isfinite(values).all():
            raise CheckpointError(
                f"{self.name} holds values that are not numbers: the file is damaged, fetch it again."
            )
        return values.reshape(self.shape)

    def integers(self) -> NDArray[np.int64]:
        """The values as int64, shape unchanged. Booleans become 0 and 1 (any byte but 0 is true)."""
        if self.dtype not in _INTEGERS:
            raise CheckpointError(f"{self.name} is stored as {self.dtype}: whole numbers are expected there.")
        values = np.frombuffer(self.read(), "u1" if self.dtype == "BOOL" else _INTEGERS[self.dtype])
        return (values != 0 if self.dtype == "BOOL" else values).astype(np.int64).reshape(self.shape)


def byte_count(dtype: str, shape: tuple[int, ...]) -> int:
    """Bytes of a tensor of a known type."""
    return math.prod(shape) * ITEM_BYTES[dtype]


def damaged(path: Path, why: str) -> CheckpointError:
    """The error for a file that contradicts itself."""
    return CheckpointError(f"{path.name} is damaged ({why}): fetch it again.")
