"""The writer of ONNX graphs: where weights lie, what is left behind when a conversion fails."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from engine.models.graph import Graph
from engine.runtime import Runner

FLOAT = 1


def external(path: Path) -> dict[str, tuple[int, int]]:
    """(offset, length) of every weight in the data file."""
    model = onnx.load(path, load_external_data=False)
    found = {}
    for tensor in model.graph.initializer:
        values = {entry.key: entry.value for entry in tensor.external_data}
        if values:
            assert values["location"] == f"{path.name}.data"
            found[tensor.name] = int(values["offset"]), int(values["length"])
    return found


def test_large_weights_lie_page_aligned_in_one_file(tmp_path: Path) -> None:
    """ONNX Runtime maps them from the file only when aligned; small ones stay in the graph."""
    rng = np.random.default_rng(0)
    weights = [rng.normal(size=(300, n)).astype(np.float32) for n in (300, 7, 300)]
    with Graph(tmp_path / "g.onnx") as g:
        x = g.input("x", FLOAT, ["S", 300])
        for i, weight in enumerate(weights):
            y = g.op("MatMul", x, g.weight(f"w{i}", weight))
            x = y if weight.shape[1] == 300 else x
        y = g.op("Add", x, g.weight("small", np.ones(300, np.float32)[:200].repeat(2)[:300]))
        g.op("Mul", y, g.const(2.0, np.float32), out="y")
        g.output("y", FLOAT, ["S_out", 300])
    places = external(tmp_path / "g.onnx")
    assert set(places) == {"w0", "w1", "w2", "small"}
    ends = [0]
    for i, weight in enumerate(weights):
        offset, length = places[f"w{i}"]
        assert offset % 4096 == 0
        assert offset >= ends[-1]
        assert length == weight.nbytes
        data = (tmp_path / "g.onnx.data").read_bytes()[offset : offset + length]
        assert np.array_equal(np.frombuffer(data, np.float32).reshape(weight.shape), weight)
        ends.append(offset + length)
    rows = rng.normal(size=(5, 300)).astype(np.float32)
    out = np.empty_like(rows)
    Runner(tmp_path / "g.onnx", 1).run(5, {"x": rows}, {"y": out})
    assert np.allclose(out, 2 * (rows @ weights[0] @ weights[2] + 1), rtol=1e-3, atol=1e-2)


def test_a_graph_of_small_weights_is_one_file(tmp_path: Path) -> None:
    """No empty data file beside it."""
    with Graph(tmp_path / "g.onnx") as g:
        g.op("Add", g.input("x", FLOAT, [3]), g.weight("w", np.ones(3, np.float32)), out="y")
        g.output("y", FLOAT, [3])
    assert [p.name for p in tmp_path.iterdir()] == ["g.onnx"]
    assert external(tmp_path / "g.onnx") == {}


def test_a_failed_conversion_leaves_no_graph(tmp_path: Path) -> None:
    """Half a graph must never be taken for a whole one, and the disk gets its space back."""

    def convert() -> None:
        with Graph(tmp_path / "g.onnx") as g:
            g.weight("w", np.ones((100, 100), np.float32))
            raise RuntimeError("stopped")

    with pytest.raises(RuntimeError, match="stopped"):
        convert()
    assert list(tmp_path.iterdir()) == []


def test_equal_constants_are_stored_once(tmp_path: Path) -> None:
    """The value, the type and the shape make a constant; a layer's constants do not multiply."""
    with Graph(tmp_path / "g.onnx") as g:
        names = [g.const(1, np.int64), g.const(1, np.int64), g.const(1.0, np.float32), g.const([1], np.int64)]
        x = g.op("Cast", g.op("Add", *names[:2]), to=FLOAT)
        g.op("Add", g.op("Mul", x, names[2]), g.op("Cast", names[3], to=FLOAT), out="y")
        g.output("y", FLOAT, [1])
    assert names[0] == names[1]
    assert len(set(names)) == 3
    assert len(onnx.load(tmp_path / "g.onnx").graph.initializer) == 3


def test_names_do_not_collide(tmp_path: Path) -> None:
    """Every value has its own name, also when the same operation is used many times."""
    with Graph(tmp_path / "g.onnx") as g:
        x = g.input("x", FLOAT, [3])
        values = [g.op("Relu", x) for _ in range(50)] + [g.fresh("relu") for _ in range(50)]
        g.op("Identity", values[0], out="y")
        g.output("y", FLOAT, [3])
    assert len(set(values)) == 100
    onnx.checker.check_model(onnx.load(tmp_path / "g.onnx"))


def test_int8_and_float16_weights_keep_their_type(tmp_path: Path) -> None:
    """Quantized weights are stored as they are."""
    with Graph(tmp_path / "g.onnx") as g:
        kinds = [np.int8, np.uint8, np.float16, np.int64]
        for kind in kinds:
            g.weight(np.dtype(kind).name, np.ones((64, 64), kind))
        g.op("Identity", g.input("x", FLOAT, [3]), out="y")
        g.output("y", FLOAT, [3])
    found = {
        t.name: onnx.helper.tensor_dtype_to_np_dtype(t.data_type)
        for t in onnx.load(tmp_path / "g.onnx").graph.initializer
    }
    assert found == {np.dtype(kind).name: np.dtype(kind) for kind in kinds}
