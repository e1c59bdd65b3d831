"""Which file of a folder holds the weights, and indexes that lie."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from engine.errors import CheckpointError
from engine.models.checkpoint_files import open_checkpoint, read_json
from tests.engine.models.test_torch_file import REAL

A, B = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"


def sharded(folder: Path, weight_map: Any = None) -> Path:
    """Two shards with one tensor each, and an index."""
    save_file({"a": np.zeros(2, np.float32)}, folder / A)
    save_file({"b": np.ones(3, np.float32)}, folder / B)
    where = {"a": A, "b": B} if weight_map is None else weight_map
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": where}))
    return folder


def test_one_safetensors_file(tmp_path: Path) -> None:
    """The usual case; it wins over a .bin beside it."""
    save_file({"w": np.ones(2, np.float32)}, tmp_path / "model.safetensors")
    shutil.copy(REAL, tmp_path / "pytorch_model.bin")
    assert list(open_checkpoint(tmp_path)) == ["w"]


def test_shards_are_joined(tmp_path: Path) -> None:
    """Large heads come in several files."""
    tensors = open_checkpoint(sharded(tmp_path))
    assert tensors["b"].floats().tolist() == [1, 1, 1]
    assert set(tensors) == {"a", "b"}


def test_torch_file_and_torch_shards(tmp_path: Path) -> None:
    """The oldest public heads are .bin only."""
    shutil.copy(REAL, tmp_path / "pytorch_model.bin")
    assert "fc.weight" in open_checkpoint(tmp_path)
    (tmp_path / "pytorch_model.bin").rename(tmp_path / "part.bin")
    index = {"weight_map": {"fc.weight": "part.bin"}}
    (tmp_path / "pytorch_model.bin.index.json").write_text(json.dumps(index))
    assert "fc.weight" in open_checkpoint(tmp_path)


def test_no_weights(tmp_path: Path) -> None:
    """The message says which files are looked for."""
    with pytest.raises(CheckpointError, match=r"model\.safetensors.*pytorch_model\.bin"):
        open_checkpoint(tmp_path)


@pytest.mark.parametrize(
    "name",
    ["../x.safetensors", "/etc/x.safetensors", "a/../../x.safetensors", "..\\x.safetensors", "C:x.safetensors", "..",
     "", "\0.safetensors", "notes.txt", 3, None, ["x.safetensors"]],
)  # fmt: skip
def test_index_cannot_lead_out_of_the_folder(tmp_path: Path, name: Any) -> None:
    """A downloaded index must not open other files of the user."""
    folder = tmp_path / "head"
    folder.mkdir()
    save_file({"a": np.zeros(2, np.float32)}, tmp_path / "x.safetensors")
    with pytest.raises(CheckpointError, match="plain file name"):
        open_checkpoint(sharded(folder, {"a": name}))


@pytest.mark.parametrize(
    ("weight_map", "words"),
    [
        ({}, "no weight_map"),
        ([], "no weight_map"),
        ({"a": A, "b": "gone.safetensors"}, r"gone\.safetensors is missing"),
        ({"a": A, "b": A}, "'b' is in none"),
    ],
)
def test_index_and_shards_must_agree(tmp_path: Path, weight_map: Any, words: str) -> None:
    """A half-downloaded head must not load with tensors missing."""
    with pytest.raises(CheckpointError, match=words):
        open_checkpoint(sharded(tmp_path, weight_map))


def test_a_tensor_in_two_shards(tmp_path: Path) -> None:
    """Which one is meant cannot be known."""
    sharded(tmp_path)
    shutil.copy(tmp_path / A, tmp_path / B)
    with pytest.raises(CheckpointError, match="'a' is in two"):
        open_checkpoint(tmp_path)


@pytest.mark.parametrize(
    ("content", "words"),
    [(None, "missing"), (b"{", "not JSON"), (b"\xff\xfe", "not JSON"), (b"3", "not a JSON object"),
     (b"[" * 100_000, "not JSON")],
)  # fmt: skip
def test_broken_json_is_named(tmp_path: Path, content: bytes | None, words: str) -> None:
    """config.json and the index go through the same door."""
    path = tmp_path / "config.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(CheckpointError, match=rf"config\.json.*{words}"):
        read_json(path)
    path.unlink(missing_ok=True)
    path.mkdir()
    with pytest.raises(CheckpointError, match="cannot be read"):
        read_json(path)
