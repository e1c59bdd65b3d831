"""The draft head's passes, and heads that do not fit their folder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from engine.draft_head import DraftHead
from engine.errors import ContextFull, ModelFolderError
from engine.model import Model
from tests.engine.conftest import Loaded
from tests.tiny import DIMS, VOCAB, Tiny, draft_ids

RNG = np.random.default_rng(0)
TOKENS = RNG.integers(3, VOCAB, 12)
HIDDEN = RNG.normal(0, 1, (12, 64)).astype(np.float32)


@pytest.fixture
def head(tiny: Loaded) -> DraftHead:
    """An empty head."""
    model = tiny(Tiny())
    model.reset()
    assert model.draft is not None
    return model.draft


def test_the_best_children_come_sorted(head: DraftHead) -> None:
    """Ids and log-probabilities of the likeliest draft tokens, for every row asked for."""
    few = head.forward(TOKENS, HIDDEN, np.arange(12), 5)
    few = type(few)(*(part.copy() for part in few))
    every = head.forward(TOKENS, HIDDEN, np.arange(12), len(head.d2t))
    assert few.ids.shape == few.scores.shape == (12, 5)
    assert np.array_equal(few.ids, every.ids[:, :5])
    assert np.array_equal(few.scores, every.scores[:, :5])
    assert (np.diff(every.scores, axis=1) <= 0).all()
    assert np.allclose(np.exp(every.scores.astype(np.float64)).sum(axis=1), 1, atol=1e-5)
    assert all(sorted(row) == list(range(len(head.d2t))) for row in every.ids.tolist())


def test_the_last_row_alone(head: DraftHead) -> None:
    """Catching up needs only the children of the last row; they are the same."""
    every = head.forward(TOKENS, HIDDEN, np.arange(12), 3)
    want = [part[-1].copy() for part in every]
    last = head.forward(TOKENS, HIDDEN, np.arange(12), 3, last_only=True)
    assert last.ids.shape == (1, 3)
    assert all(np.array_equal(part[0], whole) for part, whole in zip(last, want, strict=True))


def test_rows_ahead_are_seen_as_the_mask_says(head: DraftHead) -> None:
    """Level 2 of a tree sees the committed rows, its own parent, and no other row of level 1."""
    head.forward(TOKENS[:6], HIDDEN[:6], np.arange(6), 2)
    head.cache.advance(6)
    head.forward(TOKENS[6:8], HIDDEN[6:8], np.array([6, 6]), 2, sees=np.eye(2, dtype=bool))
    sees = np.array([[0, 1, 1]], np.bool_)  # under the second node of level 1
    child = [
        p.copy() for p in head.forward(TOKENS[8:9], HIDDEN[8:9], np.array([7]), 2, ahead=2, sees=np.array(sees[:, :3]))
    ]
    head.forward(TOKENS[7:8], HIDDEN[7:8], np.array([6]), 2)
    chain = head.forward(TOKENS[8:9], HIDDEN[8:9], np.array([7]), 2, ahead=1)
    assert np.array_equal(child[0], chain.ids)
    assert np.allclose(child[1], chain.scores, atol=1e-4)
    assert head.cache.length == 6


def test_more_rows_than_fit(head: DraftHead) -> None:
    """Rows behind the buffer's end are refused, those of earlier levels included."""
    head.cache.advance(DIMS.context_length - 3)
    with pytest.raises(ContextFull):
        head.forward(TOKENS[:2], HIDDEN[:2], np.array([509, 509]), 2, ahead=2)
    head.cache.truncate(0)


def test_draft_ids_become_target_ids(head: DraftHead) -> None:
    """Row 21: id + d2t is the target's id, for the whole draft vocabulary."""
    assert np.array_equal(np.arange(len(head.d2t)) + head.d2t, draft_ids(DIMS, 0))


IDS = np.arange(len(draft_ids(DIMS, 0)))


@pytest.mark.parametrize(
    ("d2t", "sentence"),
    [
        (np.zeros(0, np.int32), "maps outside the vocabulary of 280"),
        (np.full(len(IDS), VOCAB, np.int32), "maps outside the vocabulary of 280"),
        (-1 - np.zeros(len(IDS), np.int32), "maps outside the vocabulary of 280"),
        (-IDS.astype(np.int32), "maps outside the vocabulary of 280"),  # every token the same
        (np.zeros(len(IDS) - 1, np.int32), "251 tokens and the head has 252"),
        (np.zeros(len(IDS) + 1, np.int32), "253 tokens and the head has 252"),
        (np.zeros((2, len(IDS)), np.int32), "cannot be read"),
        (np.zeros(len(IDS), np.float32), "cannot be read"),
    ],
    ids=["empty", "beyond", "below", "repeated", "short", "long", "matrix", "floats"],
)
def test_a_wrong_d2t_is_refused(tmp_path: Path, d2t: np.ndarray, sentence: str) -> None:
    """Row 21: offsets out of range, repeated or of another head would draft nonsense, or crash in mid-turn."""
    folder = Tiny().build(tmp_path)
    np.save(folder / "eagle_d2t.npy", d2t)
    with pytest.raises(ModelFolderError, match=rf"eagle_d2t\.npy in .*{sentence}"):
        Model.load(folder, threads=1)


@pytest.mark.parametrize("content", [b"", b"no array"])
def test_an_unreadable_d2t(tmp_path: Path, content: bytes) -> None:
    """A half-copied file is one sentence."""
    folder = Tiny().build(tmp_path)
    (folder / "eagle_d2t.npy").write_bytes(content)
    with pytest.raises(ModelFolderError, match=r"eagle_d2t\.npy in .* cannot be read"):
        Model.load(folder, threads=1)


def test_a_head_of_another_model(tmp_path: Path, tiny: Loaded) -> None:
    """Files of two models mixed: refused when loading, not in mid-turn."""
    folder = Tiny().build(tmp_path)
    model = tiny(Tiny())
    for wrong in (replace(DIMS, hidden_size=128), replace(DIMS, hidden_size=32)):
        with pytest.raises(ModelFolderError, match=r"eagle_fc\.onnx in .* does not fit the model"):
            DraftHead(folder, wrong, model.target.embed, 1)
