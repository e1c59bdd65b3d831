"""A small writer of ONNX graphs whose weights go to one external file, in the order they are used.

Knows ONNX and files; knows nothing of transformers. Weights are streamed to disk as they are added, so a model
never has to fit in memory twice.
"""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper

OPSET = 20
IR_VERSION = 10
MICROSOFT = "com.microsoft"
_ALIGN = 4096  # page size: ONNX Runtime maps external tensors straight from the file
_INLINE_BYTES = 1024


class Graph:
    """Collects nodes, inputs, outputs and weights, then writes `path` and `path`.data.

    A context manager: leaving it by an exception leaves no file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._data_path = path.with_name(path.name + ".data")
        self._data = self._data_path.open("wb")
        self._nodes: list[onnx.NodeProto] = []
        self._inputs: list[onnx.ValueInfoProto] = []
        self._outputs: list[onnx.ValueInfoProto] = []
        self._weights: dict[str, onnx.TensorProto] = {}
        self._count = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None) -> None:
        self._data.close()
        if kind is None:
            self._write()
        else:
            self._data_path.unlink(missing_ok=True)

    def input(self, name: str, dtype: int, shape: list[int | str]) -> str:
        """Declare a graph input. Every run-time size needs its own symbol (ONNX Runtime issue 21212)."""
        self._inputs.append(helper.make_tensor_value_info(name, dtype, shape))
        return name

    def output(self, name: str, dtype: int, shape: list[int | str]) -> None:
        """Declare a graph output; the value of that name must exist."""
        self._outputs.append(helper.make_tensor_value_info(name, dtype, shape))

    def op(self, op: str, *inputs: str, out: str | None = None, domain: str = "", **attrs: Any) -> str:
        """Add a node with one output and return that output's name."""
        return self.ops(op, *inputs, outs=[out or self.fresh(op)], domain=domain, **attrs)[0]

    def ops(self, op: str, *inputs: str, outs: list[str], domain: str = "", **attrs: Any) -> list[str]:
        """Add a node with several outputs ("" leaves one out)."""
        self._count += 1
        node = helper.make_node(op, list(inputs), outs, name=f"{op}_{self._count}", domain=domain, **attrs)
        self._nodes.append(node)
        return outs

    def fresh(self, stem: str) -> str:
        """A value name not used before."""
        self._count += 1
        return f"{stem.lower()}.{self._count}"

    def const(self, value: Any, dtype: Any) -> str:
        """A small constant, shared between equal uses."""
        array = np.asarray(value, dtype)
        name = f"const.{array.dtype}.{'x'.join(map(str, array.shape))}.{array.ravel().tolist()}"
        return name if name in self._weights else self.weight(name, array)

    def weight(self, name: str, array: NDArray[Any]) -> str:
        """Store a weight: inline when tiny, else in the data file, page-aligned."""
        array = np.ascontiguousarray(array)
        tensor = TensorProto(name=name, data_type=helper.np_dtype_to_tensor_dtype(array.dtype), dims=array.shape)
        if array.nbytes <= _INLINE_BYTES:
            tensor.raw_data = array.tobytes()
        else:
            self._data.write(b"\0" * (-self._data.tell() % _ALIGN))
            tensor.data_location = TensorProto.EXTERNAL
            for key, value in (
                ("location", self._data_path.name),
                ("offset", str(self._data.tell())),
                ("length", str(array.nbytes)),
            ):
                tensor.external_data.add(key=key, value=value)
            self._data.write(array.data.cast("B"))
        self._weights[name] = tensor
        return name

    def _write(self) -> None:
        graph = helper.make_graph(self._nodes, "eyrie", self._inputs, self._outputs, list(self._weights.values()))
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(MICROSOFT, 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="eyrie")
        self._path.write_bytes(model.SerializeToString())
        if self._data_path.stat().st_size == 0:
            self._data_path.unlink()
