"""`eagle_fc.onnx` and `eagle.onnx` against an independent head in numpy, for every kind of checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.draft_head import DraftHead
from engine.errors import CheckpointError
from engine.models.eagle_checkpoint import EagleCheckpoint
from engine.models.head_files import convert_head
from engine.models.linear import Precision
from engine.runtime import Runner
from tests.reference.eagle_numpy import EagleReference
from tests.reference.layers_numpy import KvCache, causal_mask
from tests.tiny import DIMS, embeddings, random_head

H = DIMS.hidden_size
ATTN = "layers.0.self_attn"
BIASES = {f"{ATTN}.{m}_proj.bias": (H,) for m in "qkvo"}
QK_NORMS = {f"{ATTN}.{m}_norm.weight": (DIMS.head_dim,) for m in "qk"}
FC_NORMS = {f"fc_norm.{i}.weight": (H,) for i in range(3)}
VARIANTS: dict[str, tuple[dict[str, Any], Mapping[str, tuple[int, ...]]]] = {
    "raw-residual": ({"norm_before_residual": False}, {}),
    "normed-residual": ({"norm_before_residual": True}, {}),
    "biases": ({"attention_bias": True}, BIASES),
    "qk-norms": ({}, QK_NORMS),
    "fc-bias": ({}, {"fc.bias": (H,)}),
    "input-norm": ({}, {"input_norm.weight": (3 * H,)}),
    "fc-norms": ({}, FC_NORMS),
    "eagle-3.1": ({"norm_output": True}, FC_NORMS),
    "other-rope": ({"rope_theta": 777.0, "rms_norm_eps": 1e-2}, {}),
    "everything": (
        {"norm_output": True, "norm_before_residual": False, "attention_bias": True},
        {**BIASES, **QK_NORMS, **FC_NORMS, "fc.bias": (H,)},
    ),
    "grouped": ({"num_key_value_heads": 2}, {f"{ATTN}.{m}_proj.weight": (H // 2, 2 * H) for m in "kv"}),
}
RNG = np.random.default_rng(0)
TOKENS = RNG.integers(3, DIMS.vocab_size, 40)
STREAMS = RNG.normal(size=(40, 3 * H)).astype(np.float32)


def checkpoint(variant: str) -> EagleCheckpoint:
    """A random head of that kind; extra tensors are random, norms around 1."""
    changes, extra = VARIANTS[variant]
    known, rng = random_head(), np.random.default_rng(9)
    tensors = {
        name: (rng.normal(0, 0.3 if len(shape) == 1 else 0.1, shape) + ("norm" in name)).astype(np.float32)
        for name, shape in extra.items()
    }
    return replace(known, config=replace(known.config, **changes), tensors={**known.tensors, **tensors})


def loaded(known: EagleCheckpoint, folder: Path, precision: Precision = "float32") -> DraftHead:
    """The converted head over the tiny embeddings."""
    convert_head(known, folder, DIMS, precision)
    table = embeddings(DIMS, 0)
    return DraftHead(folder, DIMS, lambda tokens: table[tokens], 1)


def reference(known: EagleCheckpoint) -> EagleReference:
    """The same in float64."""
    table = embeddings(DIMS, 0)
    return EagleReference(known, lambda tokens: table[np.asarray(tokens)])


def compare(head: DraftHead, numpy: EagleReference, cache: KvCache, rows: slice, *, bound: float) -> None:
    """A chain of rows on both: best children, their scores, hidden states."""
    at = np.arange(rows.start, rows.stop)
    want, out = numpy.draft(TOKENS[rows], numpy.fc(STREAMS[rows]), at, causal_mask(len(at), rows.start), cache)
    found = head.forward(TOKENS[rows], head.fuse(STREAMS[rows]), at, 6)
    head.cache.advance(len(at))
    assert np.abs(found.hidden - out).max() < bound
    best = -np.sort(-want, axis=1)[:, :6]
    assert np.abs(found.scores - best).max() < bound
    assert np.abs(np.take_along_axis(want, found.ids, axis=1) - best).max() < bound


@pytest.mark.parametrize("variant", VARIANTS)
def test_it_computes_the_head(tmp_path: Path, variant: str) -> None:
    """Rows 23, 24: catch-up and growth, with every tensor a checkpoint may have."""
    known = checkpoint(variant)
    head, numpy = loaded(known, tmp_path), reference(known)
    cache = numpy.cache()
    for rows in (slice(0, 20), slice(20, 21), slice(21, 24)):
        compare(head, numpy, cache, rows, bound=2e-4)
    assert np.abs(head.fuse(STREAMS) - numpy.fc(STREAMS)).max() < 1e-4


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_tensor_counts(tmp_path: Path, variant: str) -> None:
    """Row 24: changing any tensor changes what comes out; none is read and forgotten."""
    known = checkpoint(variant)

    def results(changed: EagleCheckpoint, name: str) -> np.ndarray:
        folder = tmp_path / name
        folder.mkdir()
        head = loaded(changed, folder)
        found = head.forward(TOKENS[:9], head.fuse(STREAMS[:9]), np.arange(9), 8)
        return np.concatenate([found.scores, found.hidden], axis=1)

    base = results(known, "base")
    assert np.array_equal(results(known, "again"), base)
    for name, tensor in known.tensors.items():
        other = tensor * RNG.uniform(0.5, 1.5, tensor.shape).astype(np.float32)  # a norm would undo one factor for all
        changed = replace(known, tensors={**known.tensors, name: other})
        assert not np.allclose(results(changed, name), base, atol=1e-5), name


@pytest.mark.parametrize("change", ["norm_before_residual", "rope_theta"])
def test_every_reading_counts(tmp_path: Path, change: str) -> None:
    """A config read wrongly must show, or the choice between readings would be a coin toss."""
    known = checkpoint("raw-residual")
    value = {"norm_before_residual": True, "rope_theta": 50.0}[change]
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    one = loaded(known, tmp_path / "a")
    two = loaded(replace(known, config=replace(known.config, **{change: value})), tmp_path / "b")
    a, b = (h.forward(TOKENS[:9], h.fuse(STREAMS[:9]), np.arange(9), 4).scores for h in (one, two))
    assert not np.allclose(a, b, atol=1e-3)


def test_eight_bits_stay_close(tmp_path: Path) -> None:
    """The head ships in eight bits: its best child is nearly always the same, its scores are close."""
    known = checkpoint("raw-residual")
    head, numpy = loaded(known, tmp_path, "int8"), reference(known)
    want, _ = numpy.draft(TOKENS, numpy.fc(STREAMS), np.arange(40), causal_mask(40), numpy.cache())
    found = head.forward(TOKENS, head.fuse(STREAMS), np.arange(40), 1)
    assert (found.ids[:, 0] == want.argmax(axis=1)).mean() > 0.85
    assert np.median(np.abs(found.scores[:, 0] - want.max(axis=1))) < 0.1


def test_scores_are_log_probabilities_over_the_draft_vocabulary(tmp_path: Path) -> None:
    """`logits` of the graph, which tests and tools read, agree with the sorted children that the engine reads."""
    known = checkpoint("normed-residual")
    head = loaded(known, tmp_path)
    runner = Runner(tmp_path / "eagle.onnx", 1)
    for kind in ("key", "value"):
        runner.bind_shared(f"past_key_values.0.{kind}", f"present.0.{kind}", head.cache.layer(0, kind))
    fused = head.fuse(STREAMS[:5])
    found = head.forward(TOKENS[:5], fused, np.arange(5), 7)
    inputs = {
        "input_embed": embeddings(DIMS, 0)[TOKENS[:5]][None],
        "hidden_states": fused[None],
        "attention_mask": np.zeros((1, 1, 5, 5), np.float32),
        "position_ids": np.arange(5)[None],
        "logits_index": np.arange(5),
        "topk": np.array([7]),
        "seqlens_k": np.array([4], np.int32),
        "total_sequence_length": np.array(5, np.int32),
    }
    logits = np.empty((1, 5, len(known.d2t)), np.float32)
    runner.run(5, inputs, {"logits": logits})
    assert np.array_equal(-np.sort(-logits[0], axis=1)[:, :7], found.scores)
    assert np.array_equal(np.take_along_axis(logits[0], found.ids, axis=1), found.scores)
    assert np.allclose(np.exp(logits[0].astype(np.float64)).sum(axis=1), 1, atol=1e-5)


def test_positions_reach_the_targets_context(tmp_path: Path) -> None:
    """Row 27: the rotary table is as long as the target's context, whatever the head was trained to."""
    known = checkpoint("raw-residual")
    head = loaded(replace(known, config=replace(known.config, trained_positions=32)), tmp_path)
    head.cache.advance(DIMS.context_length - 2)
    found = head.forward(TOKENS[:2], head.fuse(STREAMS[:2]), np.array([510, 511]), 2)
    assert np.isfinite(found.scores).all()


def test_a_head_of_another_width_is_refused(tmp_path: Path) -> None:
    """Its own embeddings would be needed; silently using the target's would draft nonsense."""
    known = checkpoint("raw-residual")
    tensors = {**known.tensors, "embed_tokens.weight": np.zeros((4, 4), np.float32)}
    with pytest.raises(CheckpointError, match="token embeddings of its own"):
        convert_head(replace(known, tensors=tensors), tmp_path, DIMS)
