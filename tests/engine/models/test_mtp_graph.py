"""The MTP head's graphs, and the target's last hidden state that feeds them, against the numpy references."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from engine.draft_head import DraftHead
from engine.errors import ModelFolderError
from engine.models.eagle_checkpoint import EagleCheckpoint
from engine.models.folder import has_head
from engine.models.head_files import convert_head
from tests.engine.conftest import Loaded
from tests.reference.eagle_numpy import EagleReference
from tests.reference.layers_numpy import causal_mask
from tests.reference.llama_numpy import LlamaReference
from tests.tiny import DIMS, Tiny, TinySource, as_mtp, embeddings, random_head, teacher_head

ROWS = 9
TOKENS = np.random.default_rng(2).integers(3, DIMS.vocab_size, ROWS + 1)
NAMES = ("input_layernorm", "post_attention_layernorm", *(f"self_attn.{m}_proj" for m in "qkvo"))
NAMES += tuple(f"mlp.{m}_proj" for m in ("gate", "up", "down"))


def head(checkpoint: EagleCheckpoint, folder: Path) -> DraftHead:
    """It loaded from float32 graphs."""
    convert_head(checkpoint, folder, DIMS, "float32")
    table = embeddings(DIMS, 0)
    return DraftHead(folder, DIMS, lambda ids: table[ids], 1, "mtp")


def streams(seed: int = 0) -> np.ndarray:
    """What the target gives: three taps and the last stream, [S, 4 · hidden]."""
    return np.random.default_rng(seed).normal(size=(ROWS, 4 * DIMS.hidden_size)).astype(np.float32)


def target_weights(source: TinySource) -> dict[str, np.ndarray]:
    """All of them, for the reference."""
    names = [f"model.layers.{i}.{name}" for i in range(DIMS.layer_nums) for name in NAMES]
    names += ["model.embed_tokens", "model.norm", "lm_head"]
    return {f"{name}.weight": source.tensor(f"{name}.weight") for name in names}


def test_the_last_stream_is_the_residual_after_all_layers(tiny: Loaded) -> None:
    """Before the final norm, behind the taps, for every row also where only the last row's logits are wanted."""
    source = TinySource()
    model = tiny(Tiny(mtp="teacher", source=source))
    assert model.target.with_last
    reference = LlamaReference(target_weights(source), replace(DIMS, hidden_taps=(1, 2, DIMS.layer_nums)))
    logits, taps = reference.forward(
        reference.embed(TOKENS), np.arange(len(TOKENS)), causal_mask(len(TOKENS)), reference.cache()
    )
    model.reset()
    found = model.target.forward(TOKENS, np.arange(len(TOKENS)), last_only=True)
    h = DIMS.hidden_size
    assert found.hidden.shape == (len(TOKENS), 4 * h)
    np.testing.assert_allclose(found.hidden[:, 3 * h :], taps[:, 2 * h :], atol=2e-4)
    np.testing.assert_allclose(found.logits[0], logits[-1], atol=2e-3)


def test_a_model_without_mtp_head_reads_three_streams(tiny: Loaded) -> None:
    """The fourth is there and costs nothing until somebody needs it."""
    model = tiny(Tiny())
    model.reset()
    assert model.target.can_give_last
    assert not model.target.with_last
    assert model.target.forward(TOKENS, np.arange(len(TOKENS))).hidden.shape == (len(TOKENS), 3 * DIMS.hidden_size)
    model.reset()


@pytest.mark.parametrize("residual", [True, False], ids=["normed-residual", "raw-residual"])
@pytest.mark.parametrize("make", [random_head, teacher_head])
def test_graphs_equal_the_reference(tmp_path: Path, make: type, residual: bool) -> None:
    """Fusion of one stream, then three recursive steps on the head's own output, each over the cache before it."""
    known = as_mtp(make())
    known = replace(known, config=replace(known.config, norm_before_residual=residual))
    drafter, reference = head(known, tmp_path), EagleReference(known, lambda ids: embeddings(DIMS, 0)[ids])
    cache, given = reference.cache(), streams()
    fused = drafter.fuse(given[:, drafter.streams])
    np.testing.assert_allclose(fused, reference.fc(given[:, 3 * DIMS.hidden_size :]), atol=1e-4)
    out = drafter.forward(TOKENS[1:], fused, np.arange(ROWS), 5)
    scores, hidden = reference.draft(TOKENS[1:], fused, np.arange(ROWS), causal_mask(ROWS), cache)
    for step in range(3):
        rows = len(out.ids)
        best = np.take_along_axis(scores[-rows:], out.ids, axis=1)
        np.testing.assert_allclose(out.scores, best, atol=1e-4)
        np.testing.assert_allclose(best, -np.sort(-scores[-rows:], axis=1)[:, :5], atol=1e-4)
        np.testing.assert_allclose(out.hidden, hidden[-rows:], atol=1e-4)
        drafter.cache.advance(rows)
        token = out.ids[-1, :1] + drafter.d2t[out.ids[-1, :1]]
        at = np.array([ROWS + step])
        scores, hidden = reference.draft(token, hidden[-1:], at, causal_mask(1, len(cache)), cache)
        out = drafter.forward(token, out.hidden[-1:].copy(), at, 5)


def test_int8_is_close(tmp_path: Path) -> None:
    """What ships is int8: nearly the same first choices."""
    known = as_mtp(teacher_head())
    (tmp_path / "int8").mkdir()
    convert_head(known, tmp_path / "int8", DIMS)
    table = embeddings(DIMS, 0)
    small = DraftHead(tmp_path / "int8", DIMS, lambda ids: table[ids], 1, "mtp")
    exact = head(known, tmp_path)
    tops = []
    for drafter in (small, exact):
        fused = drafter.fuse(streams()[:, drafter.streams])
        tops.append(drafter.forward(TOKENS[1:], fused, np.arange(ROWS), 1).ids[:, 0].copy())
    assert (tops[0] == tops[1]).mean() > 0.8


def test_a_head_that_reads_other_streams_does_not_load(tmp_path: Path) -> None:
    """An EAGLE-3 head under the names of an MTP head would read wrong columns."""
    convert_head(random_head(), tmp_path, DIMS)
    for name in ("", "_fc"):
        (tmp_path / f"eagle{name}.onnx").rename(tmp_path / f"mtp{name}.onnx")
    (tmp_path / "eagle_d2t.npy").rename(tmp_path / "mtp_d2t.npy")
    with pytest.raises(ModelFolderError, match=r"mtp_fc\.onnx .*does not fit the model"):
        DraftHead(tmp_path, DIMS, lambda ids: embeddings(DIMS, 0)[ids], 1, "mtp")


def test_an_incomplete_head_is_named(tmp_path: Path) -> None:
    """Two of three files are not a head and not none."""
    assert not has_head(tmp_path, "mtp")
    convert_head(as_mtp(random_head()), tmp_path, DIMS)
    assert has_head(tmp_path, "mtp")
    assert not has_head(tmp_path, "eagle")
    (tmp_path / "mtp_fc.onnx").unlink()
    with pytest.raises(ModelFolderError, match=r"The MTP head in .* lacks mtp_fc\.onnx"):
        has_head(tmp_path, "mtp")
