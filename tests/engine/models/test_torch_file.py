"""Files of torch.save: read right without PyTorch, and never run."""

from __future__ import annotations

import collections
import io
import os
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import CheckpointError
from engine.models.torch_file import open_torch
from tests.tiny_eagle import head_tensors

REAL = Path(__file__).parents[2] / "data" / "eagle3_torch.bin"  # PyTorch 2.14, tensors of tiny_eagle.head_tensors()


class Storage:
    """Becomes a reference to a storage in the pickle."""

    def __init__(self, kind: str, key: Any, items: Any) -> None:
        self.pid = ("storage", STORAGES[kind], key, "cpu", items)


class HalfStorage: ...


class MysteryStorage: ...


STORAGES = {"HalfStorage": HalfStorage, "MysteryStorage": MysteryStorage}


def _rebuild_tensor_v2(*_: Any) -> None: ...


class Saved:
    """An object whose pickle is a call."""

    def __init__(self, function: Callable[..., Any], *arguments: Any) -> None:
        self.call = (function, arguments)

    def __reduce__(self) -> Any:
        return self.call


def view(offset: Any = 0, shape: Any = (4,), strides: Any = (1,), storage: Any = None) -> Saved:
    """A tensor over a storage of four items."""
    storage = storage or Storage("HalfStorage", "0", 4)
    return Saved(_rebuild_tensor_v2, storage, offset, shape, strides, False, collections.OrderedDict())


def to_pickle(state: Any) -> bytes:
    """Pickle as PyTorch does, with this module's stand-ins under PyTorch's names."""

    class Pickler(pickle.Pickler):
        def persistent_id(self, obj: Any) -> Any:
            return obj.pid if isinstance(obj, Storage) else None

    buffer = io.BytesIO()
    Pickler(buffer, protocol=2).dump(state)
    here = __name__.encode()
    data = buffer.getvalue().replace(b"c%b\n_rebuild" % here, b"ctorch._utils\n_rebuild")
    return data.replace(b"c%b\n" % here, b"ctorch\n")


def archive(path: Path, data: bytes, members: dict[str, bytes] | None = None, compression: int = 0) -> Path:
    """A torch.save file around a pickle."""
    with zipfile.ZipFile(path, "w", compression) as file:
        file.writestr("archive/data.pkl", data)
        for name, content in ({"data/0": bytes(8)} if members is None else members).items():
            file.writestr(f"archive/{name}", content)
    return path


def test_real_file_gives_the_tensors_that_were_saved() -> None:
    """PyTorch itself wrote it: views with strides and offsets, four element types, and module metadata."""
    tensors = open_torch(REAL)
    expected = head_tensors()
    assert list(tensors) == list(expected)
    for name, values in expected.items():
        if name in ("d2t", "t2d"):
            assert np.array_equal(tensors[name].integers(), values)
        else:
            tolerance = 2**-8 if tensors[name].dtype == "BF16" else 0
            assert np.allclose(tensors[name].floats(), values, rtol=tolerance, atol=0), name
    assert {t.dtype for t in tensors.values()} == {"F16", "BF16", "F32", "I64", "BOOL"}


@pytest.mark.parametrize(
    "call",
    [
        lambda mark: (os.system, f"touch {mark}"),
        lambda mark: (eval, f"open({str(mark)!r}, 'w')"),
        lambda mark: (exec, f"open({str(mark)!r}, 'w')"),
        lambda mark: (getattr, collections.OrderedDict, "__init__"),
        lambda mark: (open, str(mark), "w"),
    ],
)
def test_a_pickle_that_calls_something_is_not_run(tmp_path: Path, call: Callable[[Path], Any]) -> None:
    """Weights from strangers must not run programs."""
    mark = tmp_path / "it_ran"
    path = archive(tmp_path / "evil.bin", to_pickle({"w": Saved(*call(mark))}))
    with pytest.raises(CheckpointError, match=r"evil\.bin.*asks for .* not run"):
        open_torch(path)
    assert not mark.exists()


@pytest.mark.parametrize(
    "state",
    [
        (None, {"__class__": collections.OrderedDict}),
        (None, {"__call__": 1}),
        {"anything": 1},
    ],
)
def test_stand_ins_cannot_be_changed_by_a_pickle(tmp_path: Path, state: Any) -> None:
    """BUILD on a stand-in would reach every file that is read later."""
    head = to_pickle(_rebuild_tensor_v2)[:-1]  # pushes the stand-in
    body = to_pickle(state)[2:-1]
    with pytest.raises(CheckpointError, match="cannot be read"):
        open_torch(archive(tmp_path / "x.bin", head + body + b"b."))
    assert list(open_torch(archive(tmp_path / "y.bin", to_pickle({"w": view()})))) == ["w"]


def test_memo_bomb_is_refused(tmp_path: Path) -> None:
    """Storing at memo number 2³¹ would make the unpickler reserve gigabytes."""
    with pytest.raises(CheckpointError, match="cannot be read"):
        open_torch(archive(tmp_path / "x.bin", b"\x80\x02}r\xff\xff\xff\x7f."))


@pytest.mark.parametrize(
    "bad",
    [
        view(offset=1),
        view(offset=-1),
        view(shape=(5,)),
        view(shape=(2, 3), strides=(1, 1)),
        view(shape=(4,), strides=(-1,)),
        view(shape=(4, 1)),
        view(shape=(10**9, 10**9), strides=(0, 0)),
        view(shape=(2.0,)),
        view(shape=[4]),
        view(storage=Storage("MysteryStorage", "0", 4)),
        view(storage=Storage("HalfStorage", 0, 4)),
        view(storage=Storage("HalfStorage", "0", "4")),
        view(storage=3),
        7,
        {"nested": view()},
    ],
)
def test_views_outside_their_storage_are_refused(tmp_path: Path, bad: Any) -> None:
    """A stride must never read memory that is not the tensor's."""
    with pytest.raises(CheckpointError, match=r"x\.bin"):
        open_torch(archive(tmp_path / "x.bin", to_pickle({"w": bad})))


@pytest.mark.parametrize(
    ("members", "words"),
    [({}, "cannot be read"), ({"data/0": bytes(6)}, "6 bytes of 8"), ({"data/0": bytes(10)}, "too large")],
)
def test_storage_must_have_its_size(tmp_path: Path, members: dict[str, bytes], words: str) -> None:
    """A truncated storage is damage, not zeros."""
    tensor = open_torch(archive(tmp_path / "x.bin", to_pickle({"w": view()}), members))["w"]
    with pytest.raises(CheckpointError, match=words):
        tensor.floats()


def test_other_files_are_named(tmp_path: Path) -> None:
    """Old, compressed, big-endian and empty files each end in a sentence."""
    old = tmp_path / "old.bin"
    old.write_bytes(pickle.dumps(119547037146038801333356) + bytes(100))
    with pytest.raises(CheckpointError, match=r"older than PyTorch 1\.6"):
        open_torch(old)
    good = to_pickle({"w": view()})
    with pytest.raises(CheckpointError, match="compressed"):
        open_torch(archive(tmp_path / "zip.bin", good, compression=zipfile.ZIP_DEFLATED))
    with pytest.raises(CheckpointError, match="big-endian"):
        open_torch(archive(tmp_path / "big.bin", good, {"byteorder": b"big", "data/0": bytes(8)}))
    with pytest.raises(CheckpointError, match="no table"):
        open_torch(archive(tmp_path / "list.bin", to_pickle([1])))
    with zipfile.ZipFile(tmp_path / "none.bin", "w"):
        pass
    with pytest.raises(CheckpointError, match=r"no data\.pkl"):
        open_torch(tmp_path / "none.bin")


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), min_size=1, max_size=6))
def test_damage_gives_tensors_or_a_clear_error(tmp_path_factory: Any, damage: list[tuple[float, int]]) -> None:
    """Whatever bytes change, nothing but CheckpointError may come out."""
    data = bytearray(REAL.read_bytes())
    for where, value in damage:
        data[int(where * len(data))] = value
    path = Path(tmp_path_factory.getbasetemp()) / "damaged.bin"
    path.write_bytes(data)
    try:
        for tensor in open_torch(path).values():
            tensor.read()
    except CheckpointError:
        pass
