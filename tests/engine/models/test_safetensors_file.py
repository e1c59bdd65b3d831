"""The safetensors table: right values for every type, and damage that never becomes anything but a clear error."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import save

from engine.errors import CheckpointError
from engine.models.safetensors_file import open_safetensors

VALUES = np.array([[1.0, -2.5, 0.0], [3.140625, 65280.0, -1e-3]], np.float32)


def raw_file(path: Path, header: Any, data: bytes) -> Path:
    """A file with any header."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
    return path


def entry(dtype: str, shape: list[Any], begin: int, end: int) -> dict[str, Any]:
    """One entry of a header."""
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def test_float_types_become_float32(tmp_path: Path) -> None:
    """The library's own writer is the judge for float16 and float32."""
    path = tmp_path / "x.safetensors"
    path.write_bytes(save({"h": VALUES.astype(np.float16), "s": VALUES}, metadata={"format": "pt"}))
    tensors = open_safetensors(path)
    assert set(tensors) == {"h", "s"}
    assert np.array_equal(tensors["s"].floats(), VALUES)
    assert np.array_equal(tensors["h"].floats(), VALUES.astype(np.float16).astype(np.float32))
    assert tensors["h"].floats().dtype == np.float32


def test_bfloat16_is_the_upper_half_of_float32(tmp_path: Path) -> None:
    """Most heads are bfloat16, which numpy does not know."""
    bits = (VALUES.view(np.uint32) >> 16).astype("<u2")
    path = raw_file(tmp_path / "x.safetensors", {"b": entry("BF16", [2, 3], 0, 12)}, bits.tobytes())
    expected = (bits.astype(np.uint32) << 16).view(np.float32)
    values = open_safetensors(path)["b"].floats()
    assert np.array_equal(values, expected)
    assert np.allclose(values, VALUES, rtol=2**-7)


def test_integers_and_booleans(tmp_path: Path) -> None:
    """d2t is int64 and t2d boolean in real heads."""
    path = tmp_path / "x.safetensors"
    ids = np.array([-5, 0, 2**40])
    path.write_bytes(save({"i": ids, "b": np.array([True, False]), "s": ids[:2].astype(np.int32)}))
    tensors = open_safetensors(path)
    assert tensors["i"].integers().tolist() == [-5, 0, 2**40]
    assert tensors["b"].integers().tolist() == [1, 0]
    assert tensors["s"].integers().tolist() == [-5, 0]


@pytest.mark.parametrize(
    ("use", "words"), [(lambda t: t["i"].floats(), "quantized"), (lambda t: t["f"].integers(), "whole numbers")]
)
def test_wrong_kind_of_numbers_is_named(tmp_path: Path, use: Callable[[Any], Any], words: str) -> None:
    """Eight-bit weights read as float would be noise; so would a float d2t."""
    path = tmp_path / "x.safetensors"
    path.write_bytes(save({"i": np.ones(3, np.int8), "f": np.ones(3, np.float32)}))
    with pytest.raises(CheckpointError, match=words):
        use(open_safetensors(path))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_must_be_finite(tmp_path: Path, value: float) -> None:
    """One NaN in a weight would silently end all acceptance."""
    path = tmp_path / "x.safetensors"
    path.write_bytes(save({"w": np.array([1, value], np.float16)}))
    with pytest.raises(CheckpointError, match="not numbers"):
        open_safetensors(path)["w"].floats()


@pytest.mark.parametrize(
    ("header", "words"),
    [
        (b"{", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[]", "not a JSON object"),
        ({"w": 3}, "makes no sense"),
        ({"w": entry("F32", [1.5], 0, 4)}, "makes no sense"),
        ({"w": entry("F32", [True], 0, 4)}, "makes no sense"),
        ({"w": entry("F32", [-1], 0, 4)}, "makes no sense"),
        ({"w": {"dtype": "F32", "shape": [1], "data_offsets": [0]}}, "makes no sense"),
        ({"w": entry("F32", [2], 0, 8)}, "beyond the end"),
        ({"w": entry("F32", [1], 4, 0)}, "beyond the end"),
        ({"w": entry("F32", [2], 0, 4)}, "4 bytes, its shape asks for 8"),
        ({"w": entry("F32", [10**30], 0, 4)}, "its shape asks for"),
        ({"w": entry("F16", [1], 0, 2)}, "end at byte 2 of 4"),
        ({"w": entry("F16", [1], 2, 4)}, "overlap or leave holes"),
        ({"w": entry("F32", [1], 0, 4), "v": entry("F16", [1], 2, 4)}, "overlap or leave holes"),
    ],
)
def test_contradictions_are_refused(tmp_path: Path, header: Any, words: str) -> None:
    """Offsets of a broken file must not be followed."""
    with pytest.raises(CheckpointError, match=words) as caught:
        open_safetensors(raw_file(tmp_path / "x.safetensors", header, bytes(4)))
    assert "x.safetensors is damaged" in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"\1\0\0", b"\xff" * 8, (2**40).to_bytes(8, "little") + b"{}"])
def test_header_length_is_checked(tmp_path: Path, content: bytes) -> None:
    """A length field alone must not make the program reserve memory."""
    path = tmp_path / "x.safetensors"
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match="header says"):
        open_safetensors(path)


def test_file_that_changed_after_opening(tmp_path: Path) -> None:
    """Tensors are read late: the file may be gone or shorter by then."""
    path = tmp_path / "x.safetensors"
    path.write_bytes(save({"w": np.ones(100, np.float32)}))
    tensor = open_safetensors(path)["w"]
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(CheckpointError, match="shorter"):
        tensor.floats()
    path.unlink()
    with pytest.raises(CheckpointError, match="cannot be read"):
        tensor.floats()


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=200), st.booleans())
def test_any_bytes_give_tensors_or_a_clear_error(tmp_path_factory: Any, noise: bytes, framed: bool) -> None:
    """Whatever is in the file, nothing but CheckpointError may come out."""
    path = Path(tmp_path_factory.getbasetemp()) / "noise.safetensors"
    path.write_bytes(len(noise).to_bytes(8, "little") + noise if framed else noise)
    try:
        for tensor in open_safetensors(path).values():
            tensor.floats()
    except CheckpointError:
        pass
