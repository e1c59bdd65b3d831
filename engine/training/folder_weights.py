"""The target's weights out of a model folder, float32, as its graph computes with them.

Reading them from `llm.onnx` makes training need nothing but the folder, and the draft head learn from the very
8-bit weights that it will draft for. Scales that SmoothQuant folded in change no result. Knows `linear.py`'s names.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import external_data_helper, numpy_helper

from engine.errors import ModelFolderError
from engine.models.dims import ModelDims
from engine.models.folder import read_config

Array = NDArray[np.float32]


class FolderWeights:
    """Weights by name: `embed`, `norm`, `lm_head`, and per layer `{i}.attn_norm`, `qkv`, `o`, `mlp_norm`, `gate_up`,
    `down`; matrices [out, in], stacked as the graph has them."""

    def __init__(self, folder: Path) -> None:
        self.dims: ModelDims = read_config(folder).dims
        self._folder = folder
        try:
            graph = onnx.load(folder / "llm.onnx", load_external_data=False).graph
        except Exception as error:  # protobuf raises errors of its own
            raise ModelFolderError(f"llm.onnx in {folder} cannot be read: make the folder again with setup.") from error
        self._stored = {tensor.name: tensor for tensor in graph.initializer}

    def __call__(self, name: str) -> Array:
        """One weight. Raises `ModelFolderError`."""
        if name == "embed":
            return np.load(self._folder / "embeddings.npy", allow_pickle=False).astype(np.float32)
        if name == "norm":
            return self._read("model.norm.weight")
        if name == "lm_head":
            return self._matrix("lm_head")
        layer, _, part = name.partition(".")
        norms = {"attn_norm": "input_layernorm", "mlp_norm": "post_attention_layernorm"}
        stored = f"model.layers.{layer}.{norms.get(part, part)}"
        return self._read(stored) if part in norms else self._matrix(stored)

    def _matrix(self, name: str) -> Array:
        """Undo what `LinearWriter` did: [out, in]."""
        if f"{name}.q" not in self._stored:
            return np.ascontiguousarray(self._read(name).T)
        values, scales = self._raw(f"{name}.q"), self._raw(f"{name}.scale").astype(np.float32)
        if values.dtype == np.int8:  # [in, out], a scale per output
            return np.ascontiguousarray((values.astype(np.float32) * scales).T)
        blocks = (values.astype(np.float32) - 128) * scales[:, :, None]  # [out, in/block, block]
        return np.ascontiguousarray(blocks.reshape(len(blocks), -1)[:, : self._inputs(name)])

    def _inputs(self, name: str) -> int:
        """Width of a matrix's input; blocks may be padded beyond it."""
        d = self.dims
        part = name.rpartition(".")[2]
        return {"down": d.intermediate_size, "o": d.num_attention_heads * d.head_dim}.get(part, d.hidden_size)

    def _read(self, name: str) -> Array:
        return np.array(self._raw(name), np.float32)  # a copy: what protobuf holds is read-only

    def _raw(self, name: str) -> NDArray[np.generic]:
        tensor = self._stored.get(name)
        if tensor is None:
            raise ModelFolderError(f"llm.onnx in {self._folder} has no {name}: make the folder again with setup.")
        copy = onnx.TensorProto()
        copy.CopyFrom(tensor)
        try:
            if external_data_helper.uses_external_data(copy):
                external_data_helper.load_external_data_for_tensor(copy, str(self._folder))
            return np.asarray(numpy_helper.to_array(copy))
        except Exception as error:
            raise ModelFolderError(
                f"{name} in {self._folder} cannot be read: make the folder again with setup."
            ) from error
