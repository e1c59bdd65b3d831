"""A draft head: fuses the target's hidden streams, and guesses what follows, over a cache of its own.

An EAGLE-3 head reads three streams, an MTP head the one after all layers; the rest is the same.

Row t of its cache pairs the target's hidden state of token t with the embedding of token t + 1. Knows the two head
graphs; nothing of trees.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.errors import ModelFolderError
from engine.kv_cache import KVCache
from engine.models.dims import ModelDims
from engine.models.folder import HeadKind, head_files
from engine.runtime import PassSizes, Runner, Scratch
from engine.target import tree_mask

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


class DraftPass(NamedTuple):
    """Best children of the rows asked for; views that the next pass overwrites."""

    ids: Ints  # [R, topk] draft vocabulary, likeliest first
    scores: Floats  # [R, topk] log-probabilities
    hidden: Floats  # [R, hidden] what the next level pairs with


class DraftHead:
    """Sessions of the head's two graphs. `embed` is the target's table lookup.

    `streams`: which columns of the target's streams (`TargetPass.hidden`) it reads.
    """

    def __init__(
        self,
        folder: Path,
        dims: ModelDims,
        embed: Callable[[Ints], Floats],
        threads: int,
        kind: HeadKind = "eagle",
        cancel: threading.Event | None = None,
    ) -> None:
        layer, fc, d2t = head_files(kind)
        self._embed = embed
        self._fc = Runner(folder / fc, 1, cancel)  # too small for a second thread to be worth waking
        self._layer = Runner(folder / layer, threads, cancel)
        self.hidden_size = _width(self._layer, "hidden_states")
        self.streams = _streams(self._fc, dims, kind)
        _, kv_heads, _, head_dim = self._layer.input_shapes["past_key_values.0.key"]
        self.cache = KVCache(1, int(kv_heads), int(head_dim), dims.context_length)
        for part in ("key", "value"):
            self._layer.bind_shared(f"past_key_values.0.{part}", f"present.0.{part}", self.cache.layer(0, part))
        self.d2t = _load_d2t(folder / d2t, dims.vocab_size, self._layer)
        self._scratch = Scratch()
        self._sizes = PassSizes()

    def fuse(self, hidden: Floats) -> Floats:
        """The columns `streams` of the target's streams, [S, width] → [S, hidden]; a fresh array."""
        out = self._scratch.get("fused", (1, len(hidden), self.hidden_size))
        self._fc.run(len(hidden), {"fc_hidden": self._scratch.filled("taps", hidden)}, {"hidden_states": out})
        fused: Floats = out[0].copy()
        return fused

    def forward(
        self,
        tokens: Ints,
        hidden: Floats,
        positions: Ints,
        topk: int,
        *,
        ahead: int = 0,
        sees: NDArray[np.bool_] | None = None,
        last_only: bool = False,
    ) -> DraftPass:
        """One pass over pairs (`hidden` [S, hidden], embedding of `tokens` [S]) at `positions` [S].

        `ahead`: rows of this round already behind `cache.length`. `sees`: [S, ahead + S] which of those and of
        these rows each row sees; None: all earlier ones.
        """
        rows, past = len(tokens), self.cache.length + ahead
        self.cache.room_for(ahead + rows)
        first = rows - 1 if last_only else 0
        inputs: dict[str, NDArray[Any]] = {
            "input_embed": self._scratch.filled("embed", self._embed(tokens)),
            "hidden_states": self._scratch.filled("streams", hidden),
            "attention_mask": tree_mask(sees, past, rows, self.cache.length),
            "position_ids": self._scratch.filled("positions", positions, np.int64),
            "topk": self._scratch.filled("topk", topk, np.int64),
            **self._sizes.inputs(past, rows, first),
        }
        ids = self._scratch.get("ids", (1, rows - first, topk), np.int64)
        scores = self._scratch.get("scores", (1, rows - first, topk))
        out = self._scratch.get("hidden", (1, rows - first, self.hidden_size))
        self._layer.run(rows, inputs, {"top_ids": ids, "top_scores": scores, "out_hidden_states": out})
        return DraftPass(ids[0], scores[0], out[0])

    def stop(self) -> None:
        """End a pass in progress; see `Runner.stop`."""
        self._fc.stop()
        self._layer.stop()

    def resume(self) -> None:
        """Allow passes again."""
        self._fc.resume()
        self._layer.resume()


def _width(runner: Runner, name: str) -> int:
    width = runner.input_shapes[name][-1]
    if not isinstance(width, int):
        raise ModelFolderError(f"{runner.path.name} has no fixed width for {name}: make the folder again.")
    return width


def _streams(fc: Runner, dims: ModelDims, kind: HeadKind) -> slice:
    """EAGLE-3 reads the taps, which come first; MTP the last stream, which comes behind them."""
    taps = len(dims.hidden_taps) * dims.hidden_size
    streams = slice(0, taps) if kind == "eagle" else slice(taps, taps + dims.hidden_size)
    if _width(fc, "fc_hidden") != streams.stop - streams.start:
        raise ModelFolderError(f"{fc.path.name} in {fc.path.parent} does not fit the model: make the folder again.")
    return streams


def _load_d2t(path: Path, vocab: int, layer: Runner) -> Ints:
    """Offsets: target id = draft id + d2t[draft id], for every id the head's layer may give."""
    try:
        d2t = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise ModelFolderError(f"{path.name} in {path.parent} cannot be read: make the folder again.") from error
    if d2t.ndim != 1 or d2t.dtype.kind != "i":
        raise ModelFolderError(f"{path.name} in {path.parent} cannot be read as offsets: make the folder again.")
    ids = np.arange(len(d2t)) + d2t
    if len(ids) == 0 or ids.min() < 0 or ids.max() >= vocab or len(np.unique(ids)) != len(ids):
        raise ModelFolderError(f"{path.name} in {path.parent} maps outside the vocabulary of {vocab}.")
    known = layer.output_shapes["logits"][-1]
    if len(d2t) != known:
        raise ModelFolderError(
            f"{path.name} in {path.parent} is for {len(d2t)} tokens and the head has {known}: make the folder again."
        )
    return np.asarray(d2t, np.int64)
