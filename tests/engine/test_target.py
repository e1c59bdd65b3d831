"""One pass of the target: what a row depends on, what it returns, and folders that cannot be loaded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.errors import ContextFull, ModelFolderError, RuntimeUnavailable
from engine.target import MASKED, TargetModel, tree_mask
from tests.engine.conftest import Loaded
from tests.tiny import DIMS, VOCAB, Tiny, TinySource

PRECISIONS = ("float32", "int8", "int8-rowwise", "int8-mixed")
BRITTLE = TinySource(ties=0.01, brittle=True)
TOKENS = np.random.default_rng(5).integers(3, VOCAB, 200)
Rows = tuple[np.ndarray, np.ndarray, np.ndarray]


def run(target: TargetModel, passes: Sequence[int]) -> Rows:
    """Logits, hidden streams and cache rows of `TOKENS`, read in passes of these sizes; one row is padded to two."""
    target.cache.truncate(0)
    logits, hidden, at = [], [], 0
    for count in passes:
        rows = max(count, 2)
        out = target.forward(TOKENS[at : at + rows], np.arange(at, at + rows))
        logits.append(out.logits[:count].copy())
        hidden.append(out.hidden[:count].copy())
        target.cache.advance(count)
        at += count
    return np.concatenate(logits), np.concatenate(hidden), target.cache.data[:, :, :at].copy()


@pytest.mark.parametrize("precision", PRECISIONS)
def test_a_row_is_the_same_bits_in_any_pass(tiny: Loaded, precision: str) -> None:
    """Exactness rests on this: however many rows a pass has (two or more) and whatever follows, a row's bits stay.

    Kernels work in tiles of rows and keys, so every size up to beyond four tiles is tried, from several depths.
    """
    target = tiny(Tiny(precision=precision, source=BRITTLE)).target
    one_by_one = run(target, [1] * 160)
    for count in (*range(2, 70), 97, 128, 129, 160):
        _check_same(one_by_one, run(target, [count]), count)
    for past in (1, 31, 32, 33, 64, 65, 100, 127, 128, 129):
        for count in (2, 3, 8, 9, 17):
            _check_same(one_by_one, run(target, [past, count]), past + count)


def test_threads_and_wide_heads_keep_a_rows_bits(tmp_path: Path) -> None:
    """The same with heads of 64, as real models have, and with several threads: tiles are four times larger there."""
    dims = replace(DIMS, num_attention_heads=3, num_key_value_heads=1, head_dim=64, layer_nums=2, hidden_taps=())
    folder = Tiny(precision="int8", head="none", source=replace(BRITTLE, dims=dims)).build(tmp_path)
    one, two = TargetModel(folder, dims, 1), TargetModel(folder, dims, 2)
    steps = run(one, [1] * 199)
    for passes in ([129], [128, 65], [1, 129], [64, 129], [199], [2, 33], [127, 2, 2]):
        _check_same(steps, run(two, passes), sum(passes))


def _check_same(want: Rows, found: Rows, count: int) -> None:
    assert np.array_equal(want[0][:count], found[0])
    assert np.array_equal(want[1][:count], found[1])
    assert np.array_equal(want[2][:, :, :count], found[2])


@pytest.mark.parametrize("precision", PRECISIONS)
def test_rows_a_node_does_not_see_change_nothing(tiny: Loaded, precision: str) -> None:
    """Verification rests on this: rows behind a node, and masked rows, may hold any token."""
    target = tiny(Tiny(precision=precision, source=BRITTLE)).target
    rng = np.random.default_rng(1)
    run(target, [40])
    sees = np.tri(12, dtype=bool)
    sees[6:, 3:6] = False  # rows 6.. are children of row 2
    positions = 40 + np.array([0, 1, 2, 3, 4, 5, 3, 4, 5, 6, 7, 8])
    tokens = TOKENS[40:52].copy()
    want = target.forward(tokens, positions, sees).logits.copy()
    for _ in range(5):
        changed = tokens.copy()
        changed[3:6] = rng.integers(3, VOCAB, 3)
        changed[9:] = rng.integers(3, VOCAB, 3)
        found = target.forward(changed, positions, sees).logits
        assert np.array_equal(found[:3], want[:3])
        assert np.array_equal(found[6:9], want[6:9])
        assert not np.array_equal(found[9:], want[9:])


def test_a_child_off_the_first_path_equals_its_chain(tiny: Loaded) -> None:
    """A node behind siblings computes what it would compute alone behind its ancestors, to rounding."""
    target = tiny(Tiny()).target
    run(target, [20])
    sees = np.tri(4, dtype=bool)
    sees[3, 1:3] = False  # row 3 is a second child of row 0
    tree = target.forward(TOKENS[[20, 21, 22, 50]], 20 + np.array([0, 1, 2, 1]), sees).logits.copy()
    chain = target.forward(TOKENS[[20, 50]], 20 + np.arange(2)).logits
    assert np.abs(tree[3] - chain[1]).max() < 1e-4
    assert np.array_equal(tree[0], chain[0])


def test_logits_of_the_last_row_alone(tiny: Loaded) -> None:
    """Prefill asks for one row of the vocabulary; it is the last one, and hidden streams come for all."""
    target = tiny(Tiny()).target
    target.cache.truncate(0)
    whole = target.forward(TOKENS[:9], np.arange(9))
    want = whole.logits[-1].copy(), whole.hidden.copy()
    last = target.forward(TOKENS[:9], np.arange(9), last_only=True)
    assert last.logits.shape == (1, VOCAB)
    assert np.array_equal(last.logits[0], want[0])
    assert np.array_equal(last.hidden, want[1])


def test_a_pass_commits_nothing(tiny: Loaded) -> None:
    """Rows count only when the caller says so; a pass over the same place again gives the same."""
    target = tiny(Tiny()).target
    run(target, [10])
    first = target.forward(TOKENS[10:14], 10 + np.arange(4)).logits.copy()
    assert target.cache.length == 10
    assert np.array_equal(target.forward(TOKENS[10:14], 10 + np.arange(4)).logits, first)


def test_a_pass_that_does_not_fit_is_refused(tiny: Loaded) -> None:
    """Rows behind the end of the buffer would be written into someone else's memory."""
    target = tiny(Tiny()).target
    target.cache.truncate(0)
    target.cache.advance(DIMS.context_length - 1)
    with pytest.raises(ContextFull, match="512 tokens fit and 513 are needed"):
        target.forward([5, 6], np.array([511, 512]))
    target.cache.truncate(0)


def test_tree_mask_blocks_only_unseen_rows() -> None:
    """Zero where a row sees, a finite number elsewhere; committed rows are always seen."""
    sees = np.array([[1, 0, 0], [1, 1, 0], [1, 0, 1]], np.bool_)
    mask = tree_mask(sees, 5, 3)
    assert mask.shape == (1, 1, 3, 8)
    assert mask.dtype == np.float32
    assert not mask[..., :5].any()
    assert np.array_equal(mask[0, 0, :, 5:], np.where(sees, 0, MASKED))
    ahead = tree_mask(np.ones((2, 4), np.bool_), 5, 2, 3)  # two rows of this round lie behind row 3 already
    assert ahead.shape == (1, 1, 2, 7)
    assert not tree_mask(None, 5, 3).any()


def broken(folder: Path, table: np.ndarray) -> Path:
    """A tiny folder with another embedding table."""
    Tiny(head="none").build(folder)
    np.save(folder / "embeddings.npy", table)
    return folder


def test_an_embedding_table_of_the_wrong_shape(tmp_path: Path) -> None:
    """A table that does not fit would be read beyond its end."""
    folder = broken(tmp_path / "a", np.zeros((VOCAB, 32), np.float16))
    with pytest.raises(ModelFolderError, match=r"embeddings\.npy in .* holds \(\d+, 32\) float16 where"):
        TargetModel(folder, DIMS, 1)
    folder = broken(tmp_path / "b", np.zeros((VOCAB, 64), np.float32))
    with pytest.raises(ModelFolderError, match="float32 where float16"):
        TargetModel(folder, DIMS, 1)


@pytest.mark.parametrize("content", [b"", b"garbage", b"\x93NUMPY\x01\x00"])
def test_an_unreadable_embedding_table(tmp_path: Path, content: bytes) -> None:
    """A half-copied file is one sentence, not a traceback."""
    folder = Tiny(head="none").build(tmp_path)
    (folder / "embeddings.npy").write_bytes(content)
    with pytest.raises(ModelFolderError, match=r"embeddings\.npy in .* cannot be read"):
        TargetModel(folder, DIMS, 1)


def test_a_pickle_is_never_opened(tmp_path: Path) -> None:
    """A model folder comes from anywhere; loading an object array would run its code."""
    folder = Tiny(head="none").build(tmp_path)
    np.save(folder / "embeddings.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(ModelFolderError, match="cannot be read"):
        TargetModel(folder, DIMS, 1)


@pytest.mark.parametrize("name", ["llm.onnx", "llm.onnx.data", "embeddings.npy"])
def test_a_missing_file_is_named(tmp_path: Path, name: str) -> None:
    """The error says which file of which folder."""
    folder = Tiny(head="none").build(tmp_path)
    (folder / name).unlink()
    with pytest.raises(ModelFolderError, match=name.replace(".", r"\.")):
        TargetModel(folder, DIMS, 1)


@pytest.mark.parametrize("keep", [0, 10, 100_000])
def test_a_data_file_cut_short_is_named(tmp_path: Path, keep: int) -> None:
    """A full disk or a broken copy leaves half a file."""
    data = Tiny(head="none").build(tmp_path) / "llm.onnx.data"
    data.write_bytes(data.read_bytes()[:keep])
    with pytest.raises(ModelFolderError, match=r"llm\.onnx\.data in .* cut short"):
        TargetModel(tmp_path, DIMS, 1)


@pytest.mark.parametrize("keep", [0, 1000])
def test_a_graph_cut_short_is_named(tmp_path: Path, keep: int) -> None:
    """The same for the graph itself."""
    graph = Tiny(head="none").build(tmp_path) / "llm.onnx"
    graph.write_bytes(graph.read_bytes()[:keep])
    with pytest.raises(RuntimeUnavailable, match=r"ONNX Runtime cannot load llm\.onnx in"):
        TargetModel(tmp_path, DIMS, 1)


def test_dims_that_contradict_the_graph(tmp_path: Path) -> None:
    """config.json edited by hand, or files of two models mixed: refused when loading, not in mid-turn."""
    folder = Tiny(head="none").build(tmp_path)
    changes: list[dict[str, Any]] = [
        {"layer_nums": 3, "hidden_taps": ()},
        {"layer_nums": 5, "hidden_taps": ()},
        {"num_key_value_heads": 4},
        {"head_dim": 32},
        {"vocab_size": VOCAB + 1},
        {"hidden_size": 128},
    ]
    for change in changes:
        with pytest.raises(ModelFolderError, match=r"llm\.onnx and config\.json in .* belong to different models"):
            TargetModel(folder, replace(DIMS, **change), 1)
