"""Eight-bit weights and linear layers: how far from the real numbers they may be, and that rows stay apart."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from engine.errors import ConfigError
from engine.models.graph import Graph
from engine.models.linear import PRECISIONS, LinearWriter, Precision, check_precision
from engine.models.quantize import BLOCK, to_blocks, to_columns
from engine.runtime import Runner

FLOAT = 1
RNG = np.random.default_rng(0)
WEIGHTS = arrays.arrays(
    np.float32,
    st.tuples(st.integers(1, 6), st.integers(1, 150)),
    elements=st.floats(-100, 100, width=32, allow_subnormal=False),
)


@settings(deadline=None)
@given(WEIGHTS)
def test_blocks_are_within_half_a_step(weight: np.ndarray) -> None:
    """Every weight comes back to within half a step of its own block; padding and zero blocks come back as zero."""
    packed = to_blocks(weight)
    rows, cols = weight.shape
    blocks = -(-cols // BLOCK)
    assert packed.values.shape == (rows, blocks, BLOCK)
    assert packed.values.dtype == np.uint8
    assert packed.scales.shape == (rows, blocks)
    back = (packed.values.astype(np.float32) - 128) * packed.scales[:, :, None]
    padded = np.pad(weight, ((0, 0), (0, -cols % BLOCK))).reshape(back.shape)
    assert (np.abs(back - padded) <= packed.scales[:, :, None] * 0.5001).all()
    assert not back.reshape(rows, -1)[:, cols:].any()
    assert packed.values.min() >= 1  # symmetric: -127 to 127 around 128


@settings(deadline=None)
@given(WEIGHTS, st.sampled_from([63, 127]))
def test_columns_are_within_half_a_step(weight: np.ndarray, limit: int) -> None:
    """The same with one scale per output, transposed; `limit` bounds the integers."""
    packed = to_columns(weight, limit)
    assert packed.values.shape == weight.T.shape
    assert packed.values.flags.c_contiguous
    assert np.abs(packed.values.astype(int)).max() <= limit
    back = (packed.values * packed.scales).T
    assert (np.abs(back - weight) <= packed.scales[:, None] * 0.5001).all()


def runner(folder: Path, precision: Precision, parts: list[np.ndarray], bias: np.ndarray | None = None) -> Runner:
    """y = x · Wᵀ (+ b) as a graph."""
    with Graph(folder / "linear.onnx") as g:
        x = g.input("x", FLOAT, [1, "S", parts[0].shape[1]])
        b = None if bias is None else g.weight("b", bias)
        g.op("Identity", LinearWriter(g, precision)("w", x, parts, b), out="y")
        g.output("y", FLOAT, [1, "S_out", sum(len(part) for part in parts)])
    return Runner(folder / "linear.onnx", 1)


def run(linear: Runner, x: np.ndarray, outputs: int) -> np.ndarray:
    """Rows [S, K] through the graph."""
    y = np.empty((1, len(x), outputs), np.float32)
    linear.run(len(x), {"x": np.ascontiguousarray(x[None])}, {"y": y})
    return y[0]


def step_bound(x: np.ndarray, weight: np.ndarray, block: int) -> np.ndarray:
    """Largest possible error of a product of 8-bit numbers: half a step of x, half a step of w, over each block."""
    rows, cols = x.shape
    pad = -cols % block
    xs = np.pad(np.abs(x), ((0, 0), (0, pad))).reshape(rows, -1, block)
    ws = np.pad(np.abs(weight), ((0, 0), (0, pad))).reshape(len(weight), -1, block)
    x_step, w_step = xs.max(-1) / 127, ws.max(-1) / 127
    part = np.einsum("rb,nb->rn", x_step / 2, ws.sum(-1)) + np.einsum("rb,nb->rn", xs.sum(-1), w_step / 2)
    return part + block * np.einsum("rb,nb->rn", x_step, w_step) / 4


@pytest.mark.parametrize("shape", [(48, 64), (96, 128), (40, 100), (33, 576)])
@pytest.mark.parametrize("precision", PRECISIONS)
def test_a_linear_layer_is_within_its_bound(tmp_path: Path, precision: Precision, shape: tuple[int, int]) -> None:
    """Stacked parts and a bias, K not a multiple of a block included; typical errors are far below the bound."""
    weight = RNG.normal(0, 0.1, shape).astype(np.float32)
    bias = RNG.normal(size=shape[0]).astype(np.float32)
    x = RNG.normal(size=(9, shape[1])).astype(np.float32)
    found = run(runner(tmp_path, precision, [weight[:20], weight[20:]], bias), x, shape[0])
    want = x.astype(np.float64) @ weight.T.astype(np.float64) + bias
    error = np.abs(found - want)
    if precision == "float32":
        assert error.max() < 1e-4
    else:
        bound = step_bound(x, weight, BLOCK if precision == "int8" else shape[1] + shape[1] % 2)
        assert (error <= bound).all()
        assert error.mean() / np.abs(want - bias).mean() < 0.02


@pytest.mark.parametrize("precision", PRECISIONS)
def test_rows_do_not_touch_each_other(tmp_path: Path, precision: Precision) -> None:
    """A row gives the same bits in any pass of two rows or more, beside any rows, also huge ones and zeros."""
    weight = RNG.normal(size=(200, 192)).astype(np.float32)
    linear = runner(tmp_path, precision, [weight])
    x = RNG.normal(size=(70, 192)).astype(np.float32)
    alone = np.concatenate([run(linear, np.repeat(row[None], 2, axis=0), 200)[:1] for row in x])
    for rows in (2, 3, 4, 5, 7, 8, 9, 12, 13, 16, 17, 31, 32, 33, 64, 65, 70):
        assert np.array_equal(run(linear, x[:rows], 200), alone[:rows])
    shuffled = RNG.permutation(70)
    assert np.array_equal(run(linear, x[shuffled], 200), alone[shuffled])
    strange = x[:6].copy()
    strange[1] *= 1e6
    strange[3] = 0
    found = run(linear, strange, 200)
    assert np.array_equal(found[[0, 2, 4, 5]], alone[[0, 2, 4, 5]])
    assert not found[3].any()
    assert np.isfinite(found).all()


def test_one_quantization_serves_all_readers(tmp_path: Path) -> None:
    """Row-wise: two matrices that read the same input share its quantized rows."""
    with Graph(tmp_path / "g.onnx") as g:
        x = g.input("x", FLOAT, [1, "S", 64])
        write = LinearWriter(g, "int8-rowwise")
        weight = RNG.normal(size=(64, 64)).astype(np.float32)
        write("a", x, [weight])
        write("b", x, [weight])
        write("c", g.op("Relu", x), [weight])
        kinds = [node.op_type for node in g._nodes]
    assert kinds.count("QuantizeLinear") == 2
    assert kinds.count("MatMulIntegerToFloat") == 3


def test_an_unknown_precision_lists_the_known() -> None:
    """The setup command takes the name from the user."""
    assert [check_precision(name) for name in PRECISIONS] == list(PRECISIONS)
    with pytest.raises(ConfigError, match=r"'int4': use one of int8-mixed, int8, int8-rowwise, float32"):
        check_precision("int4")
