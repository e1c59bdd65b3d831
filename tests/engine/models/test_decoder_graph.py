"""`llm.onnx` against an independent decoder in numpy: prefill, steps, random trees, taps, precisions."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from engine.errors import Cancelled
from engine.models.decoder_graph import write_decoder
from engine.models.dims import ModelDims
from engine.progress import Progress
from engine.runtime import Runner
from engine.target import TargetModel
from tests.reference.layers_numpy import KvCache, causal_mask
from tests.reference.llama_numpy import LlamaReference, random_weights
from tests.tiny import DIMS

SHAPES = {
    "grouped": replace(DIMS, vocab_size=97, context_length=128),
    "tied": replace(DIMS, vocab_size=97, context_length=128, tied_embeddings=True),
    "one-kv-head": replace(DIMS, vocab_size=97, context_length=128, num_key_value_heads=1),
    "no-groups": replace(DIMS, vocab_size=97, context_length=128, num_key_value_heads=4, rope_theta=500.0),
    "wide-heads": replace(DIMS, vocab_size=97, context_length=128, head_dim=32, rms_norm_eps=1e-3),
    "edge-taps": replace(DIMS, vocab_size=97, context_length=128, hidden_taps=(0, 2, 4)),
    "equal-taps": replace(DIMS, vocab_size=97, context_length=128, hidden_taps=(1, 1, 3)),
    "one-layer": replace(DIMS, vocab_size=97, context_length=128, layer_nums=1, hidden_taps=(0, 1, 1)),
}
RNG = np.random.default_rng(0)


def models(folder: Path, dims: ModelDims, precision: str = "float32") -> tuple[TargetModel, LlamaReference]:
    """The graph, loaded, and the reference, with the same weights; embeddings as float16 holds them."""
    weights = random_weights(dims)
    table = weights["model.embed_tokens.weight"].astype(np.float16)
    np.save(folder / "embeddings.npy", table)
    weights["model.embed_tokens.weight"] = table.astype(np.float32)
    write_decoder(folder / "llm.onnx", dims, weights.__getitem__, precision)  # type: ignore[arg-type]
    return TargetModel(folder, dims, 1), LlamaReference(weights, dims)


def both(
    target: TargetModel, reference: LlamaReference, cache: KvCache, tokens: np.ndarray, sees: np.ndarray | None = None
) -> tuple[float, float]:
    """Run a pass on both; largest differences of logits and hidden streams."""
    past, rows = len(cache), len(tokens)
    depth = np.arange(rows) if sees is None else sees.sum(axis=1) - 1
    mask = causal_mask(rows, past)
    if sees is not None:
        mask[:, past:] = np.where(sees, 0, -np.inf)
    want = reference.forward(reference.embed(tokens), past + depth, mask, cache)
    found = target.forward(tokens, past + depth, sees)
    return np.abs(found.logits - want[0]).max(), np.abs(found.hidden - want[1]).max()


@pytest.mark.parametrize("shape", SHAPES)
def test_it_computes_a_llama(tmp_path: Path, shape: str) -> None:
    """Prefill, a step of one row, one of three, and random trees behind them, in every shape of model."""
    dims = SHAPES[shape]
    target, reference = models(tmp_path, dims)
    cache = reference.cache()
    for rows in (20, 1, 3, 11):
        errors = both(target, reference, cache, RNG.integers(0, 97, rows))
        target.cache.advance(rows)
        assert max(errors) < 1e-4
    for _ in range(3):
        sees = np.eye(9, dtype=bool)
        for row in range(1, 9):
            sees[row] |= sees[RNG.integers(0, row)]
        past = len(cache)
        errors = both(target, reference, cache, RNG.integers(0, 97, 9), sees)
        assert max(errors) < 1e-4
        path = np.flatnonzero(sees[8]).tolist()
        target.cache.keep(path)
        cache.keep([*range(past), *(past + row for row in path)])
    assert max(both(target, reference, cache, RNG.integers(0, 97, 2))) < 1e-4
    for i in range(dims.layer_nums):  # keys and values as the reference has them
        rows = target.cache.length
        assert np.abs(target.cache.data[2 * i, :, :rows] - cache.keys[i][:rows].swapaxes(0, 1)).max() < 1e-4
        assert np.abs(target.cache.data[2 * i + 1, :, :rows] - cache.values[i][:rows].swapaxes(0, 1)).max() < 1e-4


@pytest.mark.parametrize(("precision", "bound"), [("int8", 0.06), ("int8-rowwise", 0.09), ("int8-mixed", 0.06)])
def test_eight_bits_stay_close(tmp_path: Path, precision: str, bound: float) -> None:
    """Logits of a random model are off by a few percent of their spread, in the median and far out."""
    target, reference = models(tmp_path, SHAPES["grouped"], precision)
    tokens = RNG.integers(0, 97, 60)
    want, _ = reference.forward(reference.embed(tokens), np.arange(60), causal_mask(60), reference.cache())
    found = target.forward(tokens, np.arange(60)).logits
    error = np.abs(found - want) / want.std()
    assert 0.001 < np.median(error) < bound / 2
    assert np.quantile(error, 0.99) < 2 * bound
    assert (found.argmax(axis=1) == want.argmax(axis=1)).mean() > 0.85


def test_logits_come_for_the_rows_asked_for(tmp_path: Path) -> None:
    """`logits_index`: any rows in any order; hidden streams come for all."""
    dims = SHAPES["grouped"]
    target, _ = models(tmp_path, dims)
    tokens = RNG.integers(0, 97, 12)
    every = target.forward(tokens, np.arange(12)).logits.copy()
    runner = Runner(tmp_path / "llm.onnx", 1)
    for i in range(dims.layer_nums):
        for kind in ("key", "value"):
            runner.bind_shared(f"past_key_values.{i}.{kind}", f"present.{i}.{kind}", target.cache.layer(i, kind))
    for wanted in ([11], [0], [3, 1, 7], list(range(12))):
        inputs = {
            "input_embed": target.embed(tokens)[None],
            "attention_mask": np.zeros((1, 1, 12, 12), np.float32),
            "position_ids": np.arange(12)[None],
            "logits_index": np.array(wanted),
            "seqlens_k": np.array([11], np.int32),
            "total_sequence_length": np.array(12, np.int32),
        }
        logits = np.empty((1, len(wanted), 97), np.float32)
        hidden = np.empty((1, 12, 3 * dims.hidden_size), np.float32)
        runner.run(12, inputs, {"logits": logits, "hidden_states": hidden})
        assert np.array_equal(logits[0], every[wanted])


def test_names_and_shapes_are_the_contract(tmp_path: Path) -> None:
    """Every run-time size has a name of its own; one name for two sizes makes ONNX Runtime reuse a wrong buffer."""
    models(tmp_path, SHAPES["grouped"])
    runner = Runner(tmp_path / "llm.onnx", 1)
    inputs, outputs = runner.input_shapes, runner.output_shapes
    assert inputs["input_embed"] == [1, "S", 64]
    assert inputs["attention_mask"] == [1, 1, "S", "T"]
    assert inputs["past_key_values.3.value"] == [1, 2, "C", 16]
    assert outputs["logits"][2] == 97
    assert outputs["hidden_states"][2] == 192
    sizes = {name: {dim for dim in shape if isinstance(dim, str)} for name, shape in {**inputs, **outputs}.items()}
    assert not set.union(*(sizes[n] for n in inputs)) & set.union(*(sizes[n] for n in outputs))


def test_conversion_tells_how_far_it_is_and_stops(tmp_path: Path) -> None:
    """Progress over layers; a cancelled conversion leaves no file."""
    seen: list[Progress] = []
    weights = random_weights(DIMS).__getitem__
    write_decoder(tmp_path / "a.onnx", DIMS, weights, "float32", progress=seen.append)
    assert [p.done for p in seen] == [0, 1, 2, 3, 4]
    assert {p.total for p in seen} == {4}
    cancel = threading.Event()
    (tmp_path / "b").mkdir()
    with pytest.raises(Cancelled):
        write_decoder(
            tmp_path / "b" / "b.onnx", DIMS, weights, "float32", progress=lambda p: cancel.set(), cancel=cancel
        )
    assert list((tmp_path / "b").iterdir()) == []
