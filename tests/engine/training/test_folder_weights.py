"""Weights read back from a folder are those that its graph computes with."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from engine.errors import ModelFolderError
from engine.models.linear import PRECISIONS
from engine.models.quantize import to_blocks, to_columns
from engine.training.folder_weights import FolderWeights
from tests.engine.training.tiny_run import SOURCE, build

MATRICES = {"qkv": ["self_attn.q", "self_attn.k", "self_attn.v"], "o": ["self_attn.o"], "down": ["mlp.down"]}


def source(layer: int, part: str) -> np.ndarray:
    """The stacked matrix as it went into the graph."""
    return np.concatenate([SOURCE.tensor(f"model.layers.{layer}.{name}_proj.weight") for name in MATRICES[part]])


@pytest.mark.parametrize("precision", PRECISIONS)
def test_every_precision_reads_back(tmp_path: Path, precision: str) -> None:
    """Exactly for 32 bits, as rounded for 8."""
    weights = FolderWeights(build(tmp_path / "m", precision))
    for part in MATRICES:
        wanted = source(1, part)
        if precision in ("int8", "int8-mixed"):
            packed = to_blocks(wanted)
            blocks = (packed.values.astype(np.float32) - 128) * packed.scales[:, :, None]
            wanted = blocks.reshape(len(wanted), -1)[:, : wanted.shape[1]]
        elif precision == "int8-rowwise":
            columns = to_columns(wanted)
            wanted = (columns.values * columns.scales).T
        assert np.array_equal(weights(f"1.{part}"), wanted)
    assert np.array_equal(weights("2.mlp_norm"), SOURCE.tensor("model.layers.2.post_attention_layernorm.weight"))
    assert np.array_equal(weights("0.attn_norm"), SOURCE.tensor("model.layers.0.input_layernorm.weight"))
    assert np.array_equal(weights("norm"), SOURCE.tensor("model.norm.weight"))
    assert np.array_equal(weights("embed"), SOURCE.tensor("model.embed_tokens.weight"))
    assert np.allclose(weights("lm_head"), SOURCE.tensor("lm_head.weight"), atol=0.01)


def test_a_broken_folder_is_named(tmp_path: Path) -> None:
    """No traceback of protobuf reaches the user."""
    folder = build(tmp_path / "m")
    with pytest.raises(ModelFolderError, match=r"has no model\.layers\.9\.qkv"):
        FolderWeights(folder)("9.qkv")
    data = folder / "llm.onnx.data"
    data.write_bytes(data.read_bytes()[:1000])
    with pytest.raises(ModelFolderError, match="cannot be read"):
        FolderWeights(folder)("lm_head")
    (folder / "llm.onnx").write_bytes(b"nonsense")
    with pytest.raises(ModelFolderError, match=r"llm\.onnx"):
        FolderWeights(folder)
