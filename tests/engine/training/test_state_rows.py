"""Hidden states written with the text are those of a pass over it, and are used only where they fit."""

# ruff: noqa: E402
from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (the train extra)")

from engine.tokenizer import Tokenizer
from engine.training import synthesize, text_parts, train_head
from engine.training.batches import make_batch
from engine.training.conversations import load_data
from engine.training.folder_weights import FolderWeights
from engine.training.hidden_store import HiddenStore
from engine.training.state_rows import known_rows, read_rows, row_type, states_beside
from engine.training.synthesize import Writer, WritingPlan
from engine.training.text_parts import parts_of
from engine.training.torch_target import TorchTarget
from tests.engine.training.tiny_run import SOURCE, build, request

VOCAB = SOURCE.dims.vocab_size
KIND = row_type(SOURCE.dims)


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> TorchTarget:
    """The tiny target in float32."""
    return TorchTarget(FolderWeights(build(tmp_path_factory.mktemp("m"))), "cpu", torch.float32)


@pytest.fixture(scope="module")
def text(target: TorchTarget, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two parts and more, with states by the name "made"."""
    folder = tmp_path_factory.mktemp("text")
    plan = WritingPlan(tokens=2500, batch=6, longest_reply=24, longest=200)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_parts, "PART", 8)
        patch.setattr(synthesize, "LONGEST_USER", 40)
        model = tmp_path_factory.mktemp("tokenizer")
        Writer(target, Tokenizer.load(build(model)), folder, plan, states="made").write()
    assert not list(folder.glob("*.part"))
    return parts_of(folder)


def test_they_are_those_of_a_pass_over_the_text(target: TorchTarget, text: list[Path]) -> None:
    """Slots used again, prompts read in pieces, replies cut off: every row that is learnt from must be right."""
    data = load_data(text, VOCAB, 2048)
    known = known_rows(text, data, "made", KIND)
    assert sorted(known) == list(range(len(data)))
    for i, rows in known.items():
        want = target.hidden(torch.from_numpy(data[i].ids.astype(np.int64))[None])
        used = slice(0, len(rows) - 1)  # nothing follows the last token
        assert np.allclose(rows["taps"][used], want.taps[0, used].numpy(), atol=2e-2, rtol=2e-3)
        assert np.allclose(rows["last"][used], want.last[0, used].numpy(), atol=2e-2, rtol=2e-3)
        asked = np.concatenate([np.arange(first, end - 1) for first, end in data[i].spans])
        assert (rows["top"][asked] == want.top[0].numpy()[asked]).mean() > 0.9  # float16 decides between equals
    together = np.concatenate([rows["top"] for rows in known.values()])
    assert len(np.unique(together)) > 5


def test_only_what_fits_is_read(text: list[Path], tmp_path: Path) -> None:
    """States of other weights, or of a file that was cut off, would teach nonsense."""
    tokens = load_data(text[:1], VOCAB, 2048).tokens
    assert read_rows(text[0], "made", KIND, tokens) is not None
    assert read_rows(text[0], "made otherwise", KIND, tokens) is None
    assert read_rows(text[0], "made", KIND, tokens + 1) is None
    copy = tmp_path / "part-00000.npz"
    for path in (text[0], states_beside(text[0]), states_beside(text[0]).with_suffix(".states.json")):
        (tmp_path / path.name).write_bytes(path.read_bytes()[: 1000 if path.suffix == ".states" else None])
    assert read_rows(copy, "made", KIND, tokens) is None


def test_a_store_computes_only_the_rest(target: TorchTarget, text: list[Path], tmp_path: Path) -> None:
    """Text without states, and conversations cut shorter, beside text with them."""
    bare = tmp_path / "bare.npz"
    bare.write_bytes(text[0].read_bytes())
    data = load_data([bare, *text[1:]], VOCAB, 60)
    known = known_rows([bare, *text[1:]], data, "made", KIND)
    assert 0 < len(known) < len(data)
    store = HiddenStore(data, target, tmp_path / "hidden", "made", known)
    missing = sum(int(data.lengths[i]) for i in range(len(data)) if i not in known)
    assert store.missing == missing > 0
    batch = make_batch(data, [0, len(data) - 1])
    found = store.batch(batch)
    assert store.missing == missing - int(data.lengths[0])
    for row, i in enumerate(batch.which):
        length = int(data.lengths[i]) - 1
        want = target.hidden(torch.from_numpy(data[i].ids.astype(np.int64))[None])
        assert torch.allclose(found.taps[row, :length], want.taps[0, :length], atol=2e-2, rtol=2e-3)
    store.flush()
    assert HiddenStore(data, target, tmp_path / "hidden", "made", known).missing == store.missing


def test_a_run_learns_from_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pipeline writes text with states, and its training computes none."""
    monkeypatch.setattr(synthesize, "LONGEST_USER", 40)
    asked = {"data": (), "tokens": 2500, "batch": 8, "text_length": 200}
    said: list[str] = []
    train_head(request(tmp_path, **asked), say=said.append)
    assert any("100% of them there" in line for line in said)
    assert (tmp_path / "work" / "hidden" / "rows.npy").stat().st_size < 3000
    train_head(request(tmp_path / "b", recompute=True, **asked))
    assert not list((tmp_path / "b").rglob("*.states"))


def test_text_that_is_added_later_costs_nothing_of_the_old(
    target: TorchTarget, text: list[Path], tmp_path: Path
) -> None:
    """More parts with states of their own make the data set longer; what was computed for the rest must be found."""
    bare = tmp_path / "bare.npz"
    bare.write_bytes(text[0].read_bytes())
    for files in ([bare, *text[1:2]], [bare, *text[1:]]):
        data = load_data(files, VOCAB, 2048)
        store = HiddenStore(data, target, tmp_path / "hidden", "made", known_rows(text[1:], data, "made", KIND))
        first = make_batch(data, range(4))
        if len(files) == 2:
            store.batch(first)
            store.flush()
    assert len(text) > 2
    assert store.holds(first)
