"""ONNX Runtime sessions: threads, options, cancellation, and one way to bind buffers.

Knows sessions and memory; knows nothing of what a graph computes.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort
from numpy.typing import NDArray

from engine import progress as steps
from engine.errors import Cancelled, ModelFolderError, RuntimeUnavailable

# ONNX Runtime prefers an attention kernel that works in tiles of rows. A tile of one row (the last of 129) gives other
# bits than the same row in a wider tile, the kernel is up to 15 % slower at the sizes of drafting and verifying
# (docs/log.md), and on ARM Linux its tile is one: WORKAROUND for https://github.com/microsoft/onnxruntime/issues/29613
os.environ.setdefault("ORT_GQA_DISABLE_FLASH_ATTENTION", "1")

_ERRORS_ONLY = 3
_MAX_BINDINGS = 64
_LOOK_SECONDS = 0.02  # between two looks at whether loading is to stop


def default_threads() -> int:
    """Threads a pass uses: the cores this process may run on, at most 8 (memory bandwidth is the limit by then).

    From four cores up one is left to the window and the system: a pass waits for its slowest thread, so a thread whose
    core is wanted elsewhere costs more than it brings.
    """
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(8, allowed - 1 if allowed >= 4 else allowed))


def session_options(threads: int) -> ort.SessionOptions:
    """Options for graphs whose sizes change from pass to pass.

    Spinning stops at the end of a run: between passes the host works, and on a small machine idle spinning costs
    the other session and the window their core.
    """
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.execution_mode = ort.ExecutionMode.ORT_SEQUENTIAL
    options.enable_mem_pattern = False
    options.log_severity_level = _ERRORS_ONLY
    options.add_session_config_entry("session.force_spinning_stop", "1")
    # Work is handed out in small pieces, so a core that the window needs for a moment does not hold up a whole pass
    options.add_session_config_entry("session.dynamic_block_base", "4")
    options.add_session_config_entry("session.x64quantprecision", "1")  # no saturating kernels where VNNI is missing
    return options


class Runner:
    """One graph with bound inputs and outputs. Run by one thread; `stop` may be called from any.

    Buffers bound with `bind` stay bound; `run` takes the rest. Outputs are views that the next run overwrites.
    """

    def __init__(self, path: Path, threads: int, cancel: threading.Event | None = None) -> None:
        """Load the graph. Raises `ModelFolderError`, `RuntimeUnavailable`, or `Cancelled` once `cancel` is set."""
        if not path.is_file():
            raise ModelFolderError(f"{path.name} is missing in {path.parent}: make the folder again with setup.")
        self._session = _load(path, session_options(threads), cancel or threading.Event())
        self.path = path
        self.output_names = [o.name for o in self._session.get_outputs()]
        self._shared: list[tuple[str, str, ort.OrtValue]] = []
        self._bindings: dict[int, _Binding] = {}
        self._options = _run_options()
        self._stopping = False
        self._lock = threading.Lock()

    @property
    def input_shapes(self) -> dict[str, list[int | str]]:
        """Declared shapes, symbols included."""
        return {i.name: i.shape for i in self._session.get_inputs()}

    @property
    def output_shapes(self) -> dict[str, list[int | str]]:
        """Declared shapes, symbols included."""
        return {o.name: o.shape for o in self._session.get_outputs()}

    def bind_shared(self, source: str, target: str, array: NDArray[Any]) -> None:
        """Bind one buffer to an input and an output: the graph works in place. The array must stay alive."""
        self._shared.append((source, target, ort.OrtValue.ortvalue_from_numpy(array)))

    def run(self, rows: int, inputs: Mapping[str, NDArray[Any]], outputs: Mapping[str, NDArray[Any]]) -> None:
        """Run with contiguous `inputs`, into `outputs`. Raises `Cancelled` after `stop`.

        An array that the last run of as many `rows` was given is not bound again: reusing arrays is cheaper.
        """
        binding = self._bindings.get(rows)
        if binding is None:
            if len(self._bindings) >= _MAX_BINDINGS:
                self._bindings.clear()
            binding = self._bindings[rows] = _Binding(self._session, self._shared)
        binding.update(inputs, outputs)
        with self._lock:
            if self._stopping:
                raise Cancelled("Stopped.")
        try:
            self._session.run_with_iobinding(binding.io, self._options)
        except Exception as error:
            if self._stopping:
                raise Cancelled("Stopped.") from error
            reason = str(error).splitlines()[0][:200]
            raise RuntimeUnavailable(f"ONNX Runtime failed in {self.path.name}: {reason}") from error

    def stop(self) -> None:
        """End the run in progress, and refuse further ones until `resume`."""
        with self._lock:
            self._stopping = True
            self._options.terminate = True

    def resume(self) -> None:
        """Allow runs again, with fresh run options: a terminate flag left on would fail the next run."""
        with self._lock:
            self._stopping = False
            self._options = _run_options()


def _run_options() -> ort.RunOptions:
    """Options of a run, with the graph number that stands for none.

    Where it is not set, ONNX Runtime's Python side (1.32, `_graph_annotation_id`) finds that out by an exception from
    C++ in every run: 0.1 ms, 0.3 in a round of two draft passes and one of the target.
    """
    options = ort.RunOptions()
    options.add_run_config_entry("gpu_graph_id", "0")
    return options


def _load(path: Path, options: ort.SessionOptions, cancel: threading.Event) -> ort.InferenceSession:
    """A session; another thread watches `cancel`, because this one is in ONNX Runtime's hands."""
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(_LOOK_SECONDS):
            if cancel.is_set():
                options.set_load_cancellation_flag(True)
                return

    steps.check(cancel)
    watcher = threading.Thread(target=watch, name="loading")
    watcher.start()
    try:
        return ort.InferenceSession(str(path), options, ["CPUExecutionProvider"])
    except Exception as error:
        steps.check(cancel)
        raise _not_loaded(path, str(error).splitlines()[0][:200]) from error
    finally:
        ended.set()
        watcher.join()


def _not_loaded(path: Path, reason: str) -> ModelFolderError | RuntimeUnavailable:
    """A graph's weights lie in a second file; ONNX Runtime says so in words that help nobody."""
    if "xternal" in reason:
        return ModelFolderError(
            f"{path.name}.data in {path.parent} is missing or cut short: make the folder again with setup."
        )
    return RuntimeUnavailable(f"ONNX Runtime cannot load {path.name} in {path.parent}: {reason}")


class _Binding:
    """An io-binding for one number of rows, and the arrays it points to, which it keeps alive."""

    def __init__(self, session: ort.InferenceSession, shared: list[tuple[str, str, ort.OrtValue]]) -> None:
        self.io = session.io_binding()
        self._held: dict[str, NDArray[Any]] = {}
        for source, target, value in shared:
            self.io.bind_ortvalue_input(source, value)
            self.io.bind_ortvalue_output(target, value)

    def update(self, inputs: Mapping[str, NDArray[Any]], outputs: Mapping[str, NDArray[Any]]) -> None:
        """Bind what is not bound yet."""
        for bind, arrays in ((self.io.bind_input, inputs), (self.io.bind_output, outputs)):
            for name, array in arrays.items():
                if self._held.get(name) is not array:
                    bind(name, "cpu", 0, array.dtype, array.shape, array.ctypes.data)
                    self._held[name] = array


class PassSizes:
    """The small inputs every pass has: cache lengths and the rows whose results are wanted. Reused in place."""

    def __init__(self) -> None:
        self._seqlens = np.zeros(1, np.int32)
        self._total = np.zeros((), np.int32)
        self._rows: dict[tuple[int, int], NDArray[np.int64]] = {}

    def inputs(self, past: int, rows: int, first_wanted: int) -> dict[str, NDArray[Any]]:
        """For `rows` rows behind `past` cached ones, with results for the rows from `first_wanted` on."""
        self._seqlens[0] = past + rows - 1
        self._total[...] = past + rows
        key = first_wanted, rows
        if key not in self._rows:
            self._rows[key] = np.arange(first_wanted, rows, dtype=np.int64)
        return {
            "seqlens_k": self._seqlens,
            "total_sequence_length": self._total,
            "logits_index": self._rows[key],
        }


class Scratch:
    """Reused buffers, one per name and shape, so that nothing is allocated or bound anew per pass."""

    def __init__(self, limit: int = 256) -> None:
        self._arrays: dict[tuple[str, tuple[int, ...]], NDArray[Any]] = {}
        self._limit = limit

    def get(self, name: str, shape: tuple[int, ...], dtype: Any = np.float32) -> NDArray[Any]:
        """A buffer of this shape; its content is whatever was there."""
        key = (name, shape)
        found = self._arrays.get(key)
        if found is None:
            if len(self._arrays) >= self._limit:
                self._arrays.clear()
            found = self._arrays[key] = np.empty(shape, dtype)
        return found

    def filled(self, name: str, content: Any, dtype: Any = np.float32) -> NDArray[Any]:
        """A buffer [1, *content.shape] that holds `content`."""
        buffer = self.get(name, (1, *np.shape(content)), dtype)
        buffer[0] = content
        return buffer
