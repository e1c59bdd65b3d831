"""Sessions of ONNX Runtime: threads, stopping and going on, errors as sentences, buffers."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest

from engine.errors import Cancelled, ModelFolderError, RuntimeUnavailable
from engine.models.graph import Graph
from engine.runtime import PassSizes, Runner, Scratch, default_threads, session_options

FLOAT = 1


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    """y = x · x, for any number of rows."""
    with Graph(tmp_path / "square.onnx") as g:
        x = g.input("x", FLOAT, ["S", 3])
        g.op("Mul", x, x, out="y")
        g.output("y", FLOAT, ["S_out", 3])
    return Runner(tmp_path / "square.onnx", 1)


@pytest.fixture
def slow(tmp_path: Path) -> Runner:
    """Thousands of matrix products: a pass of seconds, with a place to stop between any two."""
    with Graph(tmp_path / "slow.onnx") as g:
        y = g.input("x", FLOAT, ["S", 256])
        weight = g.weight("w", np.eye(256, dtype=np.float32))
        for _ in range(3000):
            y = g.op("MatMul", y, weight)
        g.op("Identity", y, out="y")
        g.output("y", FLOAT, ["S_out", 256])
    return Runner(tmp_path / "slow.onnx", 1)


def test_loading_can_be_stopped(slow: Runner) -> None:
    """A large model takes seconds to load: Stop must not wait for them. Thousands of nodes, for a chance to stop."""

    class Later(threading.Event):
        """Set when it is looked at again, while the graph loads."""

        looks = 0

        def is_set(self) -> bool:
            self.looks += 1
            return self.looks > 1

    with pytest.raises(Cancelled, match="Stopped"):
        Runner(slow.path, 1, Later())
    cancel = threading.Event()
    Runner(slow.path, 1, cancel)
    cancel.set()
    with pytest.raises(Cancelled):
        Runner(slow.path, 1, cancel)


def square(runner: Runner, x: np.ndarray) -> np.ndarray:
    """One run."""
    y = np.empty_like(x)
    runner.run(len(x), {"x": x}, {"y": y})
    return y


def test_a_run_fills_the_given_arrays(runner: Runner) -> None:
    """Results land in the caller's memory, whatever sizes alternate."""
    rng = np.random.default_rng(0)
    for rows in (1, 4, 2, 4, 1, 7):
        x = rng.normal(size=(rows, 3)).astype(np.float32)
        assert np.allclose(square(runner, x), x * x)


def test_an_array_may_change_between_runs(runner: Runner) -> None:
    """Row 12: what is bound once is read anew at each run; another array of the same size is bound anew."""
    x, y = np.ones((2, 3), np.float32), np.zeros((2, 3), np.float32)
    for value in (1, 2, 3):
        x[:] = value
        runner.run(2, {"x": x}, {"y": y})
        assert (y == value * value).all()
    other = np.full((2, 3), 5, np.float32)
    runner.run(2, {"x": other}, {"y": y})
    assert (y == 25).all()
    runner.run(2, {"x": x}, {"y": other})
    assert (other == 9).all()


def test_many_sizes_keep_no_binding_each(runner: Runner) -> None:
    """A long session sees many widths; memory for them is bounded."""
    for rows in range(1, 200):
        square(runner, np.ones((rows, 3), np.float32))
    assert len(runner._bindings) <= 64


@pytest.mark.alone
def test_stop_ends_a_run_in_progress(slow: Runner) -> None:
    """The pass of seconds ends within 200 ms of the call, and the next one runs again after `resume`."""
    x, y = np.ones((64, 256), np.float32), np.empty((64, 256), np.float32)
    begin = time.perf_counter()
    slow.run(64, {"x": x}, {"y": y})
    whole = time.perf_counter() - begin
    errors: list[BaseException] = []

    def work() -> None:
        try:
            while True:
                slow.run(64, {"x": x}, {"y": y})
        except Cancelled as error:
            errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    time.sleep(whole / 3)
    asked = time.perf_counter()
    slow.stop()
    thread.join(10)
    assert time.perf_counter() - asked < max(0.2, whole / 2)
    assert len(errors) == 1
    with pytest.raises(Cancelled):
        slow.run(64, {"x": x}, {"y": y})
    slow.resume()
    slow.run(64, {"x": x}, {"y": y})
    assert (y == 1).all()


def test_stop_before_a_run_refuses_it(runner: Runner) -> None:
    """A stop that comes between two passes is not lost."""
    runner.stop()
    runner.stop()
    with pytest.raises(Cancelled):
        square(runner, np.ones((1, 3), np.float32))
    runner.resume()
    square(runner, np.ones((1, 3), np.float32))


def test_no_run_looks_for_a_graph_number(runner: Runner) -> None:
    """Where none is set, ONNX Runtime finds that out by an exception from C++, 0.1 ms in every run."""
    runner.stop()
    runner.resume()
    for options in (runner._options, Runner(runner.path, 1)._options):
        assert options.get_run_config_entry("gpu_graph_id") == "0"


def test_a_graph_works_in_place(tmp_path: Path) -> None:
    """Input and output of one name pair are the same memory: the cache is never copied."""
    with Graph(tmp_path / "add.onnx") as g:
        g.op("Add", g.input("past", FLOAT, [4]), g.input("x", FLOAT, ["S"]), out="present")
        g.output("present", FLOAT, [4])
    runner, memory = Runner(tmp_path / "add.onnx", 1), np.zeros(4, np.float32)
    runner.bind_shared("past", "present", memory)
    for _ in range(3):
        runner.run(1, {"x": np.ones(1, np.float32)}, {})
    assert (memory == 3).all()


def test_a_failing_run_is_a_sentence(runner: Runner) -> None:
    """Whatever ONNX Runtime says becomes one line that names the file."""
    with pytest.raises(RuntimeUnavailable, match=r"ONNX Runtime failed in square\.onnx: .+") as caught:
        runner.run(2, {"x": np.ones((2, 4), np.float32)}, {"y": np.ones((2, 4), np.float32)})
    assert "\n" not in str(caught.value)


def test_a_missing_graph_is_a_sentence(tmp_path: Path) -> None:
    """Said before ONNX Runtime is asked."""
    with pytest.raises(ModelFolderError, match=r"llm\.onnx is missing in .*: make the folder again"):
        Runner(tmp_path / "llm.onnx", 1)


def test_threads_are_those_this_process_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a container or under taskset the machine's cores are not ours; beyond 8 memory is the limit."""
    for cores, threads in ((1, 1), (2, 2), (64, 8)):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _, n=cores: set(range(n)), raising=False)
        assert default_threads() == threads
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert default_threads() == 1


def test_options_suit_changing_sizes() -> None:
    """A memory pattern is made for fixed sizes and goes wrong with others (ONNX Runtime issue 21213)."""
    options = session_options(2)
    assert not options.enable_mem_pattern
    assert options.intra_op_num_threads == 2
    assert options.execution_mode == ort.ExecutionMode.ORT_SEQUENTIAL
    assert os.environ["ORT_GQA_DISABLE_FLASH_ATTENTION"]


def test_pass_sizes_follow_the_cache() -> None:
    """Lengths as the attention kernel counts them, and the rows whose results are wanted."""
    sizes = PassSizes()
    for past, rows, first in ((0, 4, 0), (10, 3, 2), (10, 4, 0), (11, 3, 2)):
        inputs = sizes.inputs(past, rows, first)
        assert inputs["seqlens_k"].tolist() == [past + rows - 1]
        assert int(inputs["total_sequence_length"]) == past + rows
        assert inputs["logits_index"].tolist() == list(range(first, rows))


def test_scratch_gives_one_buffer_per_name_and_shape() -> None:
    """Reused, never shared between names or sizes, and bounded in number."""
    scratch = Scratch(limit=4)
    a = scratch.get("a", (2, 3))
    assert scratch.get("a", (2, 3)) is a
    assert scratch.get("b", (2, 3)) is not a
    assert scratch.get("a", (3, 2)) is not a
    filled = scratch.filled("c", [[1, 2], [3, 4]], np.int64)
    assert filled.tolist() == [[[1, 2], [3, 4]]]
    assert filled.dtype == np.int64
    assert scratch.get("d", (1,)) is not None
    assert scratch.get("a", (2, 3)) is not a  # the limit was reached: all were let go
