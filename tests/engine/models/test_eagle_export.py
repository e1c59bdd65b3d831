"""Written heads read back as they were, and public names are what other engines expect."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from engine.errors import CheckpointError
from engine.models.eagle_checkpoint import EagleCheckpoint, read_eagle_checkpoint
from engine.models.eagle_export import write_eagle_checkpoint
from tests.tiny_eagle import SHAPES, TARGET, head_config, head_tensors, speculators_config, write_head

NORMS = {f"fc_norm.{i}.weight": (16,) for i in range(3)}
EXTRA = {
    "fc.bias": (16,),
    **{f"midlayer.self_attn.{m}_proj.bias": (8 if m in "kv" else 16,) for m in "qkvo"},
    **{f"midlayer.self_attn.{m}_norm.weight": (4,) for m in "qk"},
}


def read(folder: Path, config: Any = None, tensors: Any = None) -> EagleCheckpoint:
    """Write a tiny head by hand and read it."""
    return read_eagle_checkpoint(write_head(folder, config, tensors), TARGET)


@pytest.mark.parametrize(
    ("config", "extra"),
    [
        (head_config(), {}),
        (head_config(norm_before_residual=True, rope_theta=5e5, head_dim=4, max_position_embeddings=None), EXTRA),
        (head_config(norm_output=True), NORMS),
        (head_config(norm_before_fc=True), {"input_norm.weight": (48,)}),
        (speculators_config(norm_before_residual=True), {}),
    ],
)
def test_round_trip(tmp_path: Path, config: Any, extra: Any) -> None:
    """A head that was trained or converted here must be readable here and elsewhere."""
    head = read(tmp_path / "in", config, head_tensors(extra))
    write_eagle_checkpoint(tmp_path / "new" / "out", head)
    again = read_eagle_checkpoint(tmp_path / "new" / "out", TARGET)
    assert again.config == head.config
    assert again.tensors.keys() == head.tensors.keys()
    assert all(np.array_equal(again.tensors[name], values) for name, values in head.tensors.items())
    assert np.array_equal(again.d2t, head.d2t)


def test_public_names_and_types(tmp_path: Path) -> None:
    """EAGLE, SpecForge and SGLang look for exactly these."""
    write_eagle_checkpoint(tmp_path / "out", read(tmp_path / "in"))
    tensors = load_file(tmp_path / "out" / "model.safetensors")
    assert tensors.keys() == SHAPES.keys() | {"d2t", "t2d"}
    assert {v.dtype.name for n, v in tensors.items() if n in SHAPES} == {"float16"}
    assert (tensors["d2t"].dtype, tensors["t2d"].dtype) == (np.int64, np.bool_)
    assert np.array_equal(tensors["t2d"], head_tensors()["t2d"])
    config = json.loads((tmp_path / "out" / "config.json").read_text())
    assert config["architectures"] == ["LlamaForCausalLMEagle3"]
    assert config["eagle_aux_hidden_state_layer_ids"] == [2, 6, 9]
    assert config["tie_word_embeddings"] is False


def test_transposed_weights_are_written_row_by_row(tmp_path: Path) -> None:
    """A view in another order must not be written as it lies in memory."""
    head = read(tmp_path / "in")
    turned = {n: np.asfortranarray(v) for n, v in head.tensors.items()}
    write_eagle_checkpoint(tmp_path / "out", replace(head, tensors=turned))
    again = read_eagle_checkpoint(tmp_path / "out", TARGET)
    assert all(np.array_equal(again.tensors[name], values) for name, values in head.tensors.items())


def test_what_cannot_be_written_is_named_and_leaves_nothing(tmp_path: Path) -> None:
    """float16 ends at 65504, and a guess about the residual must not be written down as a fact."""
    head = read(tmp_path / "in")
    big = {**head.tensors, "fc.weight": head.tensors["fc.weight"] * 1e6}
    with pytest.raises(CheckpointError, match=r"fc\.weight holds values too large"):
        write_eagle_checkpoint(tmp_path / "out", replace(head, tensors=big))
    with pytest.raises(CheckpointError, match="undecided"):
        write_eagle_checkpoint(tmp_path / "out", read(tmp_path / "open", speculators_config()))
    assert not (tmp_path / "out").exists()
