"""Reads the tensors of a `torch.save` file (the zip format of PyTorch 1.6 and later) without PyTorch.

Such a file is a zip of one pickle and one raw storage per tensor. A pickle can call anything, so the unpickler here
knows exactly three kinds of names: `OrderedDict`, `_rebuild_tensor_v2`, and the storage types; any other name stops
the reading before it runs.
"""

from __future__ import annotations

import io
import math
import pickle
import pickletools
import zipfile
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from engine.errors import CheckpointError
from engine.models.stored_tensor import ITEM_BYTES, StoredTensor, damaged

PICKLE_LIMIT = 50_000_000  # bytes; the pickle holds names and shapes only
_STORAGES = {
    "HalfStorage": "F16",
    "BFloat16Storage": "BF16",
    "FloatStorage": "F32",
    "DoubleStorage": "F64",
    "BoolStorage": "BOOL",
    "ByteStorage": "U8",
    "CharStorage": "I8",
    "ShortStorage": "I16",
    "IntStorage": "I32",
    "LongStorage": "I64",
}


class _Storage(NamedTuple):
    """The bytes that tensors are views of: a file in the zip."""

    dtype: str
    key: str
    items: int


class _View(NamedTuple):
    """A tensor as the pickle describes it; offset and strides in items."""

    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    def fits(self) -> bool:
        """Every number is a whole number of the right sign, and the view stays inside its storage."""
        numbers = (self.offset, *self.shape, *self.strides)
        if len(self.shape) != len(self.strides) or not all(type(n) is int and n >= 0 for n in numbers):
            return False
        if 0 in self.shape:
            return True
        last = self.offset + sum((n - 1) * step for n, step in zip(self.shape, self.strides, strict=True))
        return last < self.storage.items and math.prod(self.shape) <= self.storage.items


class _Rebuild:
    """Stands in for `torch._utils._rebuild_tensor_v2`. No attribute can be set on it from a pickle."""

    __slots__ = ()

    def __call__(self, storage: Any, offset: Any, shape: Any, strides: Any, *_: Any) -> _View:
        if not isinstance(storage, _Storage) or not isinstance(shape, tuple) or not isinstance(strides, tuple):
            raise pickle.UnpicklingError("a tensor without a storage")
        return _View(storage, offset, shape, strides)


class _Unpickler(pickle.Unpickler):
    """Knows the names that a state dict needs, as stand-ins, and refuses every other one."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return _Rebuild()
        if module == "torch" and name in _STORAGES:
            return _STORAGES[name]
        raise CheckpointError(
            f"its pickle asks for {module}.{name}, which no weights need and may be harmful: it was not run; get the "
            "checkpoint as safetensors."
        )

    def persistent_load(self, pid: Any) -> _Storage:
        tag, dtype, key, _location, items = pid
        if tag != "storage" or dtype not in ITEM_BYTES or not isinstance(key, str) or type(items) is not int:
            raise pickle.UnpicklingError("a storage that is none")
        return _Storage(dtype, key, items)


def open_torch(path: Path) -> dict[str, StoredTensor]:
    """Name → tensor of a saved state dict, data left on disk. Anything else in the file raises `CheckpointError`."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            root = next((n[: -len("data.pkl")] for n in names if n == "data.pkl" or n.endswith("/data.pkl")), None)
            if root is None:
                raise damaged(path, "there is no data.pkl in it")
            if f"{root}byteorder" in names and _member(archive, f"{root}byteorder", 16) != b"little":
                raise CheckpointError(f"{path.name} was saved on a big-endian machine: get it as safetensors.")
            return _tensors(path, root, _unpickle(_member(archive, f"{root}data.pkl", PICKLE_LIMIT)))
    except CheckpointError as error:
        raise CheckpointError(f"{path.name}: {error}") from error
    except zipfile.BadZipFile as error:
        raise CheckpointError(
            f"{path.name} is damaged or older than PyTorch 1.6: fetch it again, or get the checkpoint as safetensors."
        ) from error
    except Exception as error:  # damaged pickle bytes can raise anything
        raise damaged(path, f"its table cannot be read: {type(error).__name__}") from error


def _unpickle(data: bytes) -> Any:
    """The object in a pickle. A memo number beyond its size would only serve to fill the memory."""
    for opcode, argument, _ in pickletools.genops(data):
        if opcode.name.endswith("PUT") and isinstance(argument, int) and argument > len(data):
            raise pickle.UnpicklingError("memo number out of range")
    return _Unpickler(io.BytesIO(data)).load()


def _tensors(path: Path, root: str, state: Any) -> dict[str, StoredTensor]:
    if not isinstance(state, dict):
        raise damaged(path, "it holds no table of tensors")
    tensors: dict[str, StoredTensor] = {}
    for name, view in state.items():
        if not isinstance(name, str) or not isinstance(view, _View) or not view.fits():
            raise damaged(path, f"{name!r} is no tensor")
        read: Callable[[], bytes] = partial(_read, path, root, view)
        tensors[name] = StoredTensor(name, view.storage.dtype, view.shape, read)
    return tensors


def _member(archive: zipfile.ZipFile, name: str, limit: int) -> bytes:
    """A file of the zip; PyTorch never compresses, so its size cannot lie."""
    info = archive.getinfo(name)
    if info.compress_type != zipfile.ZIP_STORED or info.file_size > limit:
        raise CheckpointError(f"{name} in it is compressed or too large: get the checkpoint as safetensors.")
    return archive.read(info)


def _read(path: Path, root: str, view: _View) -> bytes:
    width = ITEM_BYTES[view.storage.dtype]
    try:
        with zipfile.ZipFile(path) as archive:
            data = _member(archive, f"{root}data/{view.storage.key}", view.storage.items * width)
    except CheckpointError:
        raise
    except Exception as error:  # zipfile raises many kinds on damaged bytes
        raise damaged(path, f"storage {view.storage.key} cannot be read") from error
    if len(data) != view.storage.items * width:
        raise damaged(path, f"storage {view.storage.key} has {len(data)} bytes of {view.storage.items * width}")
    items = np.frombuffer(data, f"V{width}")[view.offset :]
    steps = [step * width for step in view.strides]
    return np.lib.stride_tricks.as_strided(items, view.shape, steps, writeable=False).tobytes()
