"""The unrolled head equals drafting step by step, and what is exported equals the network."""

# ruff: noqa: E402
from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (the train extra)")

from engine.draft_head import DraftHead
from engine.models.eagle_checkpoint import EagleCheckpoint
from engine.models.head_files import convert_head
from engine.training.batches import make_batch
from engine.training.conversations import Conversation, DataSet
from engine.training.export import write_head
from engine.training.folder_weights import FolderWeights
from engine.training.head_init import from_head, from_target, widened, with_vocabulary
from engine.training.head_net import HeadNet
from tests.engine.training.tiny_run import SOURCE, build
from tests.reference.eagle_numpy import EagleReference
from tests.reference.layers_numpy import causal_mask
from tests.tiny import as_mtp, random_head

DIMS = SOURCE.dims
STEPS = 4
DATA = DataSet.of(
    [
        Conversation(np.random.default_rng(seed).integers(3, DIMS.vocab_size, length).astype(np.int32), spans)
        for seed, (length, spans) in enumerate([(14, ((4, 14),)), (11, ((2, 5), (7, 11)))])
    ]
)


def head(*, mtp: bool = False, normed: bool = False) -> EagleCheckpoint:
    """Random weights, so that every part matters."""
    made = random_head(DIMS, 3)
    made = replace(made, config=replace(made.config, norm_before_residual=normed))
    return as_mtp(made, DIMS) if mtp else made


def unrolled(made: EagleCheckpoint, taps: object, later: int | None = None) -> dict[tuple[int, int, int], np.ndarray]:
    """(conversation, row, step) → log-probabilities."""
    batch = make_batch(DATA, [0, 1])
    embed = torch.from_numpy(SOURCE.tensor("model.embed_tokens.weight"))
    net = HeadNet(made.config, embed, 64)
    weights = {name: torch.from_numpy(value) for name, value in made.tensors.items()}
    left = torch.from_numpy(batch.steps_left)
    out = {}
    for number, step in enumerate(net.unroll(weights, torch.from_numpy(batch.ids), taps, left, STEPS, later)):
        scores = (step.normed @ weights["lm_head.weight"].T).log_softmax(dim=-1).numpy()
        for row, values in zip(step.rows.tolist(), scores, strict=True):
            out[row // left.shape[1], row % left.shape[1], number] = values
    return out


def random_taps(made: EagleCheckpoint) -> object:
    """[2, 14, streams · hidden]."""
    width = made.tensors["fc.weight"].shape[1]
    return torch.randn(2, 14, width, generator=torch.Generator().manual_seed(4))


@pytest.mark.parametrize(("mtp", "normed"), [(False, False), (False, True), (True, False)])
def test_unrolling_equals_drafting_step_by_step(mtp: bool, normed: bool) -> None:
    """Every row of every step, against a cache that grows one row at a time as it does in use."""
    made = head(mtp=mtp, normed=normed)
    taps = random_taps(made)
    embeddings = SOURCE.tensor("model.embed_tokens.weight")
    reference = EagleReference(made, lambda tokens: embeddings[tokens])
    found, checked = unrolled(made, taps), 0
    for which in range(2):
        ids = DATA[which].ids
        for row in range(len(ids) - 1):
            cache = reference.cache()
            fused = reference.fc(taps[which, : row + 1].numpy())
            scores, hidden = reference.draft(ids[1 : row + 2], fused, np.arange(row + 1), causal_mask(row + 1), cache)
            for step in range(STEPS):
                if step:
                    at = np.array([row + step])
                    token = ids[row + 1 + step : row + 2 + step]
                    scores, hidden = reference.draft(token, hidden[-1:], at, np.zeros((1, row + 1 + step)), cache)
                if (which, row, step) not in found:
                    break
                assert np.allclose(found[which, row, step], scores[-1], atol=1e-4), (which, row, step)
                checked += 1
    assert (
        checked == len(found) == sum(min(STEPS, n) for item in (0, 1) for n in make_batch(DATA, [item]).steps_left[0])
    )


def test_only_some_conversations_go_beyond_the_first_step() -> None:
    """Half of a batch is unrolled in training; what it computes must stay the same."""
    made = head()
    taps = random_taps(made)
    whole, part = unrolled(made, taps), unrolled(made, taps, later=1)
    assert part.keys() == {key for key in whole if key[0] == 0 or key[2] == 0}
    assert all(np.allclose(part[key], whole[key], atol=1e-5) for key in part)


@pytest.mark.parametrize("mtp", [False, True])
def test_an_exported_head_equals_the_network(tmp_path: Path, mtp: bool) -> None:
    """Written, read, converted to a float32 graph and run by ONNX Runtime: the same to 1e-4."""
    made = head(mtp=mtp)
    write_head(tmp_path / "head", made)
    dims = DIMS
    read = from_head(tmp_path / "head", dims)
    assert read.kind == ("mtp" if mtp else "eagle")
    rounded = replace(made, tensors={n: v.astype(np.float16).astype(np.float32) for n, v in made.tensors.items()})
    taps = random_taps(made)
    found = unrolled(rounded, taps)
    convert_head(read, tmp_path, dims, "float32")
    embeddings = SOURCE.tensor("model.embed_tokens.weight")
    run = DraftHead(tmp_path, dims, lambda tokens: embeddings[tokens], 1, read.kind)
    ids, rows, vocab = DATA[0].ids.astype(np.int64), 5, len(made.d2t)
    fused = run.fuse(taps[0, :rows].numpy())
    result = run.forward(ids[1 : rows + 1], fused, np.arange(rows), vocab, last_only=True)
    run.cache.advance(rows)
    for step in range(3):
        scores = np.empty(vocab, np.float32)
        scores[result.ids[0]] = result.scores[0]
        assert np.allclose(scores, found[0, rows - 1, step], atol=1e-4), step
        hidden, at = result.hidden.copy(), np.array([rows + step])
        result = run.forward(ids[rows + 1 + step : rows + 2 + step], hidden, at, vocab, ahead=step)


def test_a_new_head_is_made_of_the_target(tmp_path: Path) -> None:
    """Its norm, its lm_head rows and its last layer: the first scores are far better than chance."""
    weights = FolderWeights(build(tmp_path / "m"))
    d2t = np.arange(10, dtype=np.int32)
    made = from_target(weights, d2t)
    rows = SOURCE.tensor("lm_head.weight")[2 * np.arange(10)]
    assert np.array_equal(made.tensors["lm_head.weight"], rows)
    assert np.array_equal(
        made.tensors["layers.0.self_attn.o_proj.weight"], SOURCE.tensor("model.layers.2.self_attn.o_proj.weight")
    )
    write_head(tmp_path / "h", made)
    again = from_head(tmp_path / "h", weights.dims)
    assert again.config.taps == weights.dims.hidden_taps
    assert from_target(weights, d2t, streams=1).kind == "mtp"


def test_widening_changes_no_output() -> None:
    """A head may get a larger MLP in the middle of its training."""
    made = head()
    taps = random_taps(made)
    wide = widened(made, made.config.intermediate_size + 40)
    assert wide.tensors["layers.0.mlp.up_proj.weight"].shape == (made.config.intermediate_size + 40, DIMS.hidden_size)
    before, after = unrolled(made, taps), unrolled(wide, taps)
    assert all(np.allclose(before[key], after[key], atol=1e-5) for key in before)


def test_another_vocabulary_keeps_known_rows_and_fits_new_ones(tmp_path: Path) -> None:
    """What a head has learnt about a token stays with the token; what it did to all of them is done to new ones."""
    weights, made = FolderWeights(build(tmp_path / "m")), head()
    target, hidden = SOURCE.tensor("lm_head.weight"), DIMS.hidden_size
    turn = (np.eye(hidden) + np.random.default_rng(5).normal(0, 0.1, (hidden, hidden))).astype(np.float32)
    old = np.arange(len(made.d2t)) + made.d2t
    made = replace(made, tensors={**made.tensors, "lm_head.weight": target[old] @ turn})
    fresh = np.setdiff1d(np.arange(DIMS.vocab_size), old)[:7]
    ids = np.sort(np.concatenate([old[::3], fresh]))
    other = with_vocabulary(made, (ids - np.arange(len(ids))).astype(np.int32), weights)
    assert other.config.draft_vocab_size == len(ids)
    for row, token in zip(other.tensors["lm_head.weight"], ids, strict=True):
        known = np.flatnonzero(old == token)
        if len(known):
            assert np.array_equal(row, made.tensors["lm_head.weight"][known[0]])
        else:
            wanted = target[token] @ turn
            assert np.linalg.norm(row - wanted) < 0.2 * np.linalg.norm(target[token] - wanted)
