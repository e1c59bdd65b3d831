"""MTP checkpoints: written and read back, and refused in one sentence when anything about them is off."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from engine.errors import CheckpointError
from engine.models.eagle_checkpoint import EagleCheckpoint, read_eagle_checkpoint
from engine.models.mtp_checkpoint import is_mtp_checkpoint, read_mtp_checkpoint, write_mtp_checkpoint
from tests.tiny import DIMS, TinySource, as_mtp, draft_ids, random_head
from tests.tiny_eagle import TARGET, write_head


@pytest.fixture
def head() -> EagleCheckpoint:
    """A random head whose weights float16 holds."""
    made = as_mtp(random_head())
    return replace(made, tensors={n: t.astype(np.float16).astype(np.float32) for n, t in made.tensors.items()})


@pytest.fixture
def folder(tmp_path: Path, head: EagleCheckpoint) -> Path:
    """Its checkpoint."""
    write_mtp_checkpoint(tmp_path / "my-head", head, notes={"data": "none", "seeds": [1, 2]})
    return tmp_path / "my-head"


def change(folder: Path, **values: Any) -> None:
    """Change config.json; None removes a key."""
    path = folder / "config.json"
    config = {**json.loads(path.read_text()), **values}
    path.write_text(json.dumps({key: value for key, value in config.items() if value is not None}))


def retensor(folder: Path, without: str = "", **tensors: np.ndarray) -> None:
    """Change tensors; a dot is written as two underscores."""
    path = folder / "model.safetensors"
    found = {**load_file(path), **{name.replace("__", "."): t for name, t in tensors.items()}}
    save_file({name: t for name, t in found.items() if name != without}, path)


def same(a: EagleCheckpoint, b: EagleCheckpoint) -> bool:
    """Equal to the last bit."""
    return (
        a.config == b.config
        and a.tensors.keys() == b.tensors.keys()
        and all(np.array_equal(a.tensors[name], b.tensors[name]) for name in a.tensors)
        and np.array_equal(a.d2t, b.d2t)
    )


def test_what_is_written_is_read(folder: Path, head: EagleCheckpoint) -> None:
    """All of it; notes are kept in the file and mean nothing."""
    found = read_mtp_checkpoint(folder, DIMS)
    assert same(found, head)
    assert found.kind == "mtp"
    assert found.warnings == ()
    assert is_mtp_checkpoint(folder)
    assert json.loads((folder / "config.json").read_text())["notes"]["seeds"] == [1, 2]


def test_the_documented_names_are_in_the_file(folder: Path) -> None:
    """docs/mtp_head.md is what others write: the names there and here must be the same."""
    document = (Path(__file__).resolve().parents[3] / "docs" / "mtp_head.md").read_text(encoding="utf-8")
    stored = load_file(folder / "model.safetensors")
    for name in (*stored, *json.loads((folder / "config.json").read_text())):
        parts = name.split(".")
        assert all(f"`{part}" in document or f"{part}`" in document or f".{part}" in document for part in parts), name


def test_a_missing_lm_head_is_borrowed_row_by_row(folder: Path) -> None:
    """A checkpoint need not hold what the target has; without the target's weights there is no guess."""
    retensor(folder, without="lm_head.weight")
    weights = TinySource().tensor
    found = read_mtp_checkpoint(folder, DIMS, weights)
    assert np.array_equal(found.tensors["lm_head.weight"], weights("lm_head.weight")[draft_ids(DIMS, 0)])
    tied = replace(DIMS, tied_embeddings=True)
    found = read_mtp_checkpoint(folder, tied, weights)
    assert np.array_equal(found.tensors["lm_head.weight"], weights("model.embed_tokens.weight")[draft_ids(DIMS, 0)])
    with pytest.raises(CheckpointError, match="together with its target's weights"):
        read_mtp_checkpoint(folder, DIMS)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"architectures": ["LlamaForCausalLMEagle3"]}, r"architectures .*EyrieMtp"),
        ({"architectures": None}, "architectures in config.json is None"),
        ({"target_layers": 5}, "for a target of 5 layers and this one has 4"),
        ({"target_layers": None}, "no target_layers"),
        ({"hidden_size": 32}, "hidden size 32 and the target has 64"),
        ({"vocab_size": 99}, "vocabulary of 99"),
        ({"draft_vocab_size": 100_000}, "larger than vocab_size"),
        ({"norm_before_residual": None}, "no norm_before_residual"),
        ({"norm_before_residual": "yes"}, "must be true or false"),
        ({"norm_output": True}, "unknown key 'norm_output'"),
        ({"hidden_act": "gelu"}, "'gelu': only 'silu'"),
        ({"num_hidden_layers": 2}, "2: only 1"),
        ({"rope_theta": None}, "no rope_theta"),
        ({"head_dim": 8}, "head_dim 8"),
        ({"num_key_value_heads": 3}, "no multiple"),
        ({"intermediate_size": 97}, "asks for"),
    ],
)
def test_configs_that_cannot_be(folder: Path, values: dict[str, Any], said: str) -> None:
    """Each named, with the head's name in front."""
    change(folder, **values)
    with pytest.raises(CheckpointError, match=said) as error:
        read_mtp_checkpoint(folder, DIMS)
    assert str(error.value).startswith("MTP head my-head: ")


@pytest.mark.parametrize(
    ("without", "tensors", "said"),
    [
        ("fc.weight", {}, "fc.weight is missing: the checkpoint is incomplete or not an MTP head"),
        ("norm.weight", {}, "norm.weight is missing"),
        ("", {"fc__weight": np.zeros((64, 192), np.float16)}, r"\[64, 64\] is expected, 1 hidden streams"),
        ("", {"midlayer__self_attn__q_proj__weight": np.zeros((64, 64), np.float16)}, r"shape \[64, 64\]"),
        ("", {"enorm__weight": np.zeros(64, np.float16)}, "'enorm.weight' is not a tensor of an MTP head"),
        ("", {"embed_tokens__weight": np.zeros((DIMS.vocab_size, 64), np.float16)}, "uses the target's embeddings"),
        ("d2t", {}, "d2t is missing"),
        ("", {"d2t": np.full(len(draft_ids(DIMS, 0)), 9999, np.int64)}, "d2t is wrong"),
    ],
)
def test_tensors_that_cannot_be(folder: Path, without: str, tensors: dict[str, Any], said: str) -> None:
    """Nothing is filled in at random, nothing is left over."""
    retensor(folder, without, **tensors)
    with pytest.raises(CheckpointError, match=said):
        read_mtp_checkpoint(folder, DIMS)


def test_the_two_kinds_are_not_mistaken_for_each_other(folder: Path, tmp_path: Path, head: EagleCheckpoint) -> None:
    """Their tensors have the same names."""
    with pytest.raises(CheckpointError, match="this is an MTP head, not EAGLE-3"):
        read_eagle_checkpoint(folder, DIMS)
    eagle = write_head(tmp_path / "eagle")
    assert not is_mtp_checkpoint(eagle)
    with pytest.raises(CheckpointError, match="architectures"):
        read_mtp_checkpoint(eagle, TARGET)
    with pytest.raises(CheckpointError, match="several hidden streams"):
        write_mtp_checkpoint(tmp_path / "x", random_head())
