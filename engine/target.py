"""The target model: rows of embeddings in, logits and hidden streams out, over its own key-value cache.

Knows `llm.onnx` and its cache; knows nothing of trees, sampling or text.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.errors import ModelFolderError
from engine.kv_cache import KVCache
from engine.models.dims import ModelDims
from engine.runtime import PassSizes, Runner, Scratch

MASKED = np.float32(-1e4)  # finite: minus infinity in a whole row would give NaN

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


class TargetPass(NamedTuple):
    """Results of one pass; views that the next pass overwrites."""

    logits: Floats  # [R, vocab] for the rows asked for
    hidden: Floats  # [S, streams · hidden] residual streams, low to high: the taps, and the last one if asked for


def tree_mask(sees: NDArray[np.bool_] | None, past: int, rows: int, committed: int | None = None) -> Floats:
    """Additive mask [1, 1, rows, past + rows].

    `sees`: which rows from `committed` (default: `past`) on each row of the pass sees, [rows, past + rows - committed];
    None: all earlier ones (the kernel is causal by itself). Everything before `committed` is seen.
    """
    mask = np.zeros((1, 1, rows, past + rows), np.float32)
    if sees is not None:
        mask[0, 0, :, past if committed is None else committed :][~sees] = MASKED
    return mask


class TargetModel:
    """One session of `llm.onnx`. `forward` appends rows behind `cache.length`; the caller commits what it keeps.

    `with_last`: the stream after all layers is read as well; only where `can_give_last`.
    """

    def __init__(self, folder: Path, dims: ModelDims, threads: int, cancel: threading.Event | None = None) -> None:
        self.dims = dims
        self._runner = Runner(folder / "llm.onnx", threads, cancel)
        _check_graph(self._runner, dims)
        self._embeddings = _load_embeddings(folder / "embeddings.npy", dims)
        self.cache = KVCache(dims.layer_nums, dims.num_key_value_heads, dims.head_dim, dims.context_length)
        for i in range(dims.layer_nums):
            for kind in ("key", "value"):
                buffer = self.cache.layer(i, kind)
                self._runner.bind_shared(f"past_key_values.{i}.{kind}", f"present.{i}.{kind}", buffer)
        self._scratch = Scratch()
        self._sizes = PassSizes()
        self._tap_width = len(dims.hidden_taps) * dims.hidden_size
        self.can_give_last = "last_hidden" in self._runner.output_names
        self.with_last = False

    def embed(self, tokens: list[int] | Ints) -> Floats:
        """Rows of the embedding table, [S, hidden] float32."""
        return self._embeddings.take(tokens, axis=0).astype(np.float32)

    def forward(
        self, tokens: list[int] | Ints, positions: Ints, sees: NDArray[np.bool_] | None = None, last_only: bool = False
    ) -> TargetPass:
        """One pass over `tokens` [S] at absolute `positions` [S]; `sees` as in `tree_mask`.

        `last_only`: logits of the last row alone. Raises `ContextFull`, `Cancelled`, `RuntimeUnavailable`.
        """
        rows, past = len(positions), self.cache.length
        self.cache.room_for(rows)
        first = rows - 1 if last_only else 0
        inputs: dict[str, NDArray[Any]] = {
            "input_embed": self._scratch.filled("embed", self.embed(tokens)),
            "attention_mask": tree_mask(sees, past, rows),
            "position_ids": self._scratch.filled("positions", positions, np.int64),
            **self._sizes.inputs(past, rows, first),
        }
        logits = self._scratch.get("logits", (1, rows - first, self.dims.vocab_size))
        hidden = self._scratch.get("hidden", (1, rows, self._tap_width))
        outputs = {"logits": logits, "hidden_states": hidden}
        if not self.with_last:
            self._runner.run(rows, inputs, outputs)
            return TargetPass(logits[0], hidden[0])
        last = self._scratch.get("last", (1, rows, self.dims.hidden_size))
        self._runner.run(rows, inputs, {**outputs, "last_hidden": last})
        streams = self._scratch.get("streams", (1, rows, self._tap_width + self.dims.hidden_size))
        return TargetPass(logits[0], np.concatenate((hidden[0], last[0]), axis=1, out=streams[0]))

    def stop(self) -> None:
        """End a pass in progress; see `Runner.stop`."""
        self._runner.stop()

    def resume(self) -> None:
        """Allow passes again."""
        self._runner.resume()


def _check_graph(runner: Runner, dims: ModelDims) -> None:
    """The graph has the sizes that buffers will be made for: others would be read and written out of bounds."""
    shapes = {**runner.input_shapes, **runner.output_shapes}
    taps = len(dims.hidden_taps) * dims.hidden_size
    sizes = {"input_embed": dims.hidden_size, "logits": dims.vocab_size, "hidden_states": taps}
    cache = [shape[1:4:2] for name, shape in shapes.items() if name.startswith("past_key_values.")]
    fits = all(name in shapes and shapes[name][-1] == size for name, size in sizes.items())
    if not fits or cache != [[dims.num_key_value_heads, dims.head_dim]] * (2 * dims.layer_nums):
        raise ModelFolderError(
            f"{runner.path.name} and config.json in {runner.path.parent} belong to different models: "
            "make the folder again with setup."
        )


def _load_embeddings(path: Path, dims: ModelDims) -> NDArray[np.float16]:
    try:
        table: NDArray[np.float16] = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise ModelFolderError(f"{path.name} in {path.parent} cannot be read: make the folder again.") from error
    if table.shape != (dims.vocab_size, dims.hidden_size) or table.dtype != np.float16:
        found = f"{table.shape} {table.dtype}"
        raise ModelFolderError(
            f"{path.name} in {path.parent} holds {found} where float16 {(dims.vocab_size, dims.hidden_size)} belongs."
        )
    return np.asarray(table)
