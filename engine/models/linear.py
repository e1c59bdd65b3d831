"""A linear layer as graph nodes, in each precision the converter offers.

Rows of a pass never depend on each other in any of them: plain decoding and verification must agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from engine.errors import ConfigError
from engine.models.graph import MICROSOFT, Graph
from engine.models.quantize import BLOCK, to_blocks, to_columns

Precision = Literal["int8-mixed", "int8", "int8-rowwise", "float32"]
PRECISIONS: tuple[Precision, ...] = get_args(Precision)


def check_precision(name: str) -> Precision:
    """The precision of that name, or `ConfigError` listing the known ones."""
    for known in PRECISIONS:
        if name == known:
            return known
    raise ConfigError(f"Unknown precision {name!r}: use one of {', '.join(PRECISIONS)}.")


class LinearWriter:
    """Writes y = x · Wᵀ (+ b) into a graph. Matrices that read the same x are stacked into one by the caller.

    `int8` has a scale per block of 64 inputs. `int8-rowwise` has one per output column and quantizes rows in the graph:
    it grows less with the rows of a pass, but takes five more nodes per input. `int8-mixed` is `int8` with a row-wise
    vocabulary projection (`wide`), where the matrix is so large that the nodes do not matter.
    """

    def __init__(self, graph: Graph, precision: Precision) -> None:
        self._graph = graph
        self._precision = precision
        self._quantized: dict[str, tuple[str, str]] = {}

    def __call__(
        self, name: str, x: str, parts: Sequence[NDArray[np.float32]], bias: str | None = None, *, wide: bool = False
    ) -> str:
        """x [1, S, K], parts: weights [N_i, K] → y [1, S, ΣN_i]. `wide`: the projection to the vocabulary."""
        weight = parts[0] if len(parts) == 1 else np.concatenate(list(parts))
        mixed = self._rowwise if wide else self._blocks
        writers = {
            "float32": self._float32,
            "int8": self._blocks,
            "int8-rowwise": self._rowwise,
            "int8-mixed": mixed,
        }
        y = writers[self._precision](name, x, weight)
        return y if bias is None else self._graph.op("Add", y, bias)

    def _float32(self, name: str, x: str, weight: NDArray[np.float32]) -> str:
        return self._graph.op("MatMul", x, self._graph.weight(name, weight.T))

    def _blocks(self, name: str, x: str, weight: NDArray[np.float32]) -> str:
        """accuracy_level 4 (integer products); without it 8-bit weights have no kernel and take milliseconds."""
        g, (rows, cols) = self._graph, weight.shape
        packed = to_blocks(weight)
        values, scales = g.weight(f"{name}.q", packed.values), g.weight(f"{name}.scale", packed.scales)
        sizes = {"N": rows, "K": cols, "bits": 8, "block_size": BLOCK, "accuracy_level": 4}
        return g.op("MatMulNBits", x, values, scales, domain=MICROSOFT, **sizes)

    def _rowwise(self, name: str, x: str, weight: NDArray[np.float32]) -> str:
        g = self._graph
        packed = to_columns(weight)
        values, scales = g.weight(f"{name}.q", packed.values), g.weight(f"{name}.scale", packed.scales)
        quantized, row_top = self._quantize_rows(x)
        step, middle = g.const(1 / 127, np.float32), g.const(128, np.uint8)
        y = g.op("MatMulIntegerToFloat", quantized, values, step, scales, middle, domain=MICROSOFT)
        return g.op("Mul", y, row_top)

    def _quantize_rows(self, x: str) -> tuple[str, str]:
        """x → (uint8 around 128 in steps of 1/127 of the row's largest |x|, that largest [1, S, 1]).

        Done once for all matrices that read x. A row of zeros divides 0 by 0, but whatever that quantizes to is
        multiplied by its largest |x|, 0, in the end.
        """
        if x not in self._quantized:
            g = self._graph
            top = g.op("ReduceMax", g.op("Abs", x), g.const([-1], np.int64), keepdims=1)
            step, middle = g.const(1 / 127, np.float32), g.const(128, np.uint8)
            self._quantized[x] = (g.op("QuantizeLinear", g.op("Div", x, top), step, middle), top)
        return self._quantized[x]
