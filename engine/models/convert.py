"""Builds the graph files of a model folder from a model file and, if there is one, a draft head.

Knows the order of steps; each step lives in its own file.
"""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from engine import progress as steps
from engine.config import CHAT_SAMPLING, EngineConfig, SamplingConfig
from engine.errors import Cancelled
from engine.models.decoder_graph import CALIBRATED, write_decoder
from engine.models.dims import ModelDims
from engine.models.eagle_checkpoint import EagleCheckpoint, read_eagle_checkpoint, variants
from engine.models.folder import FolderConfig, write_config
from engine.models.head_choice import choose
from engine.models.head_files import ReadyHead, convert_head
from engine.models.linear import check_precision
from engine.models.mtp_checkpoint import read_mtp_checkpoint
from engine.models.smooth import SmoothScales, find_scales
from engine.tokenizer import Tokenizer

Array = NDArray[np.float32]
_CALIBRATION_CHUNK = 128
_MIN_CHOICE_TOKENS = 64


class Source(Protocol):
    """Where weights come from: a GGUF file, or random numbers in a test."""

    dims: ModelDims

    def tensor(self, name: str) -> Array:
        """One weight by its Hugging Face name, float32."""


def build_folder(
    source: Source,
    out: Path,
    *,
    name: str,
    precision: str,
    head: Path | None = None,
    mtp: Path | None = None,
    calibration: list[int] | None = None,
    engine: EngineConfig | None = None,
    sampling: SamplingConfig = CHAT_SAMPLING,
    progress: steps.ProgressCallback = steps.ignore,
    cancel: threading.Event | None = None,
) -> None:
    """Write llm.onnx, embeddings.npy, config.json and the heads' files into the folder `out`.

    `head`: an EAGLE-3 checkpoint in the public format, or a folder of files converted before. `mtp`: the same for an
    MTP head, in Eyrie's own format. `calibration`: token ids of a text for the scales of `int8-rowwise`; without it
    there are none. Raises `Cancelled`, `CheckpointError`, `ConfigError`, `ModelFileError`.
    """
    kind = check_precision(precision)
    dims = source.dims
    draft = None if head is None else open_head(head, source, calibration or [], progress=progress, cancel=cancel)
    heads = [] if mtp is None else [open_mtp(mtp, source)]
    if draft is not None:
        heads.append(draft)
        dims = dims.with_taps(draft.taps if isinstance(draft, ReadyHead) else draft.config.taps)
    write_embeddings(source, out / "embeddings.npy")
    scales = None
    if kind == "int8-rowwise" and calibration:
        scales = calibrate(source, calibration, progress=progress, cancel=cancel)
    write_decoder(out / "llm.onnx", dims, source.tensor, kind, scales=scales, progress=progress, cancel=cancel)
    for item in heads:
        progress(steps.Progress("Converting the draft head", 0, 1))
        steps.check(cancel)
        item.write(out) if isinstance(item, ReadyHead) else convert_head(item, out, dims)
    steps.check(cancel)
    config = FolderConfig(name, kind, "cpu", dims, engine or EngineConfig(), sampling)
    write_config(out, config)


def open_head(
    folder: Path,
    source: Source,
    tokens: list[int],
    *,
    progress: steps.ProgressCallback = steps.ignore,
    cancel: threading.Event | None = None,
) -> ReadyHead | EagleCheckpoint:
    """A converted head, or a checkpoint in its best reading (`tokens` is the text to choose on).

    What is doubtful about the checkpoint is told through `progress`, a warning each.
    """
    ready = ReadyHead.open(folder, source.dims)
    if ready is not None:
        return ready
    readings = variants(read_eagle_checkpoint(folder, source.dims, source.tensor))
    head = readings[0]
    if len(tokens) >= _MIN_CHOICE_TOKENS:
        head = choose(readings, source.dims, source.tensor, tokens, progress=progress, cancel=cancel)
    for warning in head.warnings:
        progress(steps.Progress("Reading the draft head", 0, 0, warning=f"Draft head {folder.name}: {warning}"))
    return head


def open_mtp(folder: Path, source: Source) -> ReadyHead | EagleCheckpoint:
    """A converted MTP head, or its checkpoint."""
    return ReadyHead.open(folder, source.dims, "mtp") or read_mtp_checkpoint(folder, source.dims, source.tensor)


def calibration_tokens(tokenizer: Tokenizer, text: str) -> list[int]:
    """The conversation in `text` (user and assistant by turns, "%%" lines between) in the model's own format."""
    turns: list[dict[str, str]] = []
    for paragraph in text.strip().split("\n%%\n"):
        role = ("user", "assistant")[len(turns) % 2]
        turns.append({"role": role, "content": paragraph})
    return tokenizer.encode_chat(turns, add_generation_prompt=False)


def write_embeddings(source: Source, path: Path) -> None:
    """The embedding table [vocab, hidden] as float16, for rows to be looked up on the host."""
    np.save(path, source.tensor("model.embed_tokens.weight").astype(np.float16))


def calibrate(
    source: Source,
    tokens: list[int],
    *,
    progress: steps.ProgressCallback = steps.ignore,
    cancel: threading.Event | None = None,
) -> SmoothScales:
    """Run the float32 model over `tokens` and find SmoothQuant scales from the largest activations."""
    with tempfile.TemporaryDirectory(prefix="eyrie-calibration-", ignore_cleanup_errors=True) as folder:
        path = Path(folder) / "llm.onnx"
        write_decoder(path, source.dims, source.tensor, "float32", probe=True, progress=_as("Calibrating", progress))
        steps.check(cancel)
        peaks = activation_peaks(path, source, tokens, cancel)
    return find_scales(source.dims, peaks, source.tensor)


def activation_peaks(
    path: Path, source: Source, tokens: list[int], cancel: threading.Event | None = None
) -> dict[str, Array]:
    """Map "layer.name" to the largest |x| per channel at every matrix input, over independent chunks of `tokens`."""
    import onnxruntime as ort

    from engine.runtime import default_threads, session_options

    dims = source.dims
    session = ort.InferenceSession(str(path), session_options(default_threads()), ["CPUExecutionProvider"])
    names = [f"{layer}.{name}" for layer in range(dims.layer_nums) for name in CALIBRATED]
    table = source.tensor("model.embed_tokens.weight").astype(np.float16)
    peaks: dict[str, Array] = {}
    for at in range(0, len(tokens), _CALIBRATION_CHUNK):
        if cancel is not None and cancel.is_set():
            raise Cancelled("Stopped.")
        chunk = tokens[at : at + _CALIBRATION_CHUNK]
        found = session.run([f"probe.{name}" for name in names], _first_pass(dims, table[chunk].astype(np.float32)))
        for name, value in zip(names, found, strict=True):
            peak = np.abs(value[0]).max(axis=0)
            peaks[name] = np.maximum(peaks[name], peak) if name in peaks else peak
    return peaks


def _first_pass(dims: ModelDims, embeds: Array) -> dict[str, NDArray[np.generic]]:
    """Inputs of a pass over an empty cache. embeds [S, hidden]."""
    rows = len(embeds)
    inputs: dict[str, NDArray[np.generic]] = {
        "input_embed": embeds[None],
        "attention_mask": np.zeros((1, 1, rows, rows), np.float32),
        "position_ids": np.arange(rows, dtype=np.int64)[None],
        "logits_index": np.array([rows - 1], np.int64),
        "seqlens_k": np.array([rows - 1], np.int32),
        "total_sequence_length": np.array(rows, np.int32),
    }
    for i in range(dims.layer_nums):
        for kind in ("key", "value"):
            shape = (1, dims.num_key_value_heads, rows, dims.head_dim)
            inputs[f"past_key_values.{i}.{kind}"] = np.zeros(shape, np.float32)
    return inputs


def _as(step: str, progress: steps.ProgressCallback) -> Callable[[steps.Progress], None]:
    """The same progress under another name."""
    return lambda p: progress(p._replace(step=step))
