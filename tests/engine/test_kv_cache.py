"""Rows 10, 11, 15: keeping, dropping and moving rows, alone and under real passes of target and draft."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import ContextFull
from engine.kv_cache import KVCache
from engine.model import Model
from tests.engine.conftest import Loaded
from tests.tiny import VOCAB, Tiny, TinySource

CAPACITY = 24
KEEPS = st.lists(st.booleans(), min_size=0, max_size=12)


def filled(length: int) -> KVCache:
    """A cache in which every number names its row; `length` rows are committed."""
    cache = KVCache(2, 3, 4, CAPACITY)
    cache.data[:] = np.arange(CAPACITY, dtype=np.float32)[:, None]
    cache.advance(length)
    return cache


def rows_of(cache: KVCache) -> list[int]:
    """Which row lies in each committed place, the same in every layer, head, key and value."""
    held = cache.data[:, :, : cache.length]
    assert (held == held[:1, :1, :, :1]).all()
    return held[0, 0, :, 0].astype(int).tolist()


@settings(deadline=None)
@given(st.integers(0, 12), KEEPS)
def test_keep_leaves_exactly_the_chosen_rows(length: int, keeps: list[bool]) -> None:
    """Any choice of appended rows follows the committed ones, in order, in keys and values of every layer."""
    cache = filled(length)
    rows = [i for i, keep in enumerate(keeps) if keep]
    cache.keep(rows)
    assert rows_of(cache) == [*range(length), *(length + row for row in rows)]


@settings(deadline=None)
@given(st.lists(st.tuples(KEEPS, st.integers(0, 24)), max_size=12))
def test_any_sequence_of_steps_equals_a_list(steps: list[tuple[list[bool], int]]) -> None:
    """Rounds of append, keep and truncate do what they do to a plain list; nothing outside the rows changes hands."""
    cache, model, names = KVCache(1, 2, 4, CAPACITY), [], 0
    for keeps, cut in steps:
        count = min(len(keeps), CAPACITY - cache.length)
        new = [names := names + 1 for _ in range(count)]
        cache.data[:, :, cache.length : cache.length + count] = np.array(new, np.float32)[:, None]
        rows = [i for i in range(count) if keeps[i]]
        cache.keep(rows)
        model += [new[i] for i in rows]
        if cut <= cache.length and cut % 3 == 0:
            cache.truncate(cut)
            del model[cut:]
        assert rows_of(cache) == model


@settings(deadline=None)
@given(st.lists(st.tuples(KEEPS, st.booleans(), st.integers(0, 24)), max_size=12))
def test_canonical_rows_end_where_the_first_other_row_is(steps: list[tuple[list[bool], bool, int]]) -> None:
    """A moved row, or one of a pass with other bits, and all behind it do not count until they are cut off."""
    cache, model = KVCache(1, 2, 4, CAPACITY), list[bool]()
    for keeps, canonical, cut in steps:
        rows = [i for i, keep in enumerate(keeps[: CAPACITY - cache.length]) if keep]
        model += [canonical and row == to for to, row in enumerate(rows)]
        cache.keep(rows, canonical=canonical)
        if cut <= cache.length and cut % 3 == 0:
            cache.truncate(cut)
            del model[cut:]
        assert cache.canonical == [*model, False].index(False)


def test_rows_in_place_are_not_written() -> None:
    """A chain accepted whole moves nothing, however long the cache is."""
    cache = filled(3)
    cache.data.flags.writeable = False
    cache.keep([0, 1, 2, 3])
    assert cache.length == 7
    with pytest.raises(ValueError, match="read-only"):
        cache.keep([0, 2])


@pytest.mark.parametrize("rows", [[1, 1], [2, 1], [-1, 0], [0, -1]])
def test_rows_out_of_order_are_refused(rows: list[int]) -> None:
    """An accepted path always increases; anything else is a fault of the caller, and must not move memory."""
    cache = filled(4)
    with pytest.raises(ValueError, match="must increase"):
        cache.keep(rows)
    assert cache.length == 4


def test_the_end_of_the_memory() -> None:
    """No row outside the buffer is read, committed or written."""
    cache = filled(CAPACITY - 2)
    with pytest.raises(ContextFull, match="24 tokens fit and 25 are needed"):
        cache.keep([0, 1, 2])
    with pytest.raises(ValueError, match="outside the cache"):
        cache.keep([0, 2])
    with pytest.raises(ContextFull):
        cache.advance(3)
    with pytest.raises(ValueError, match="cannot truncate 22 rows to 23"):
        cache.truncate(23)
    with pytest.raises(ValueError, match="to -1"):
        cache.truncate(-1)
    cache.keep([0, 1])
    assert cache.length == CAPACITY


def test_a_layer_is_a_view() -> None:
    """Graphs are bound to these views: keys of layer i at 2i, values behind them, one memory."""
    cache = filled(0)
    cache.layer(1, "value")[0, 2, 5, 3] = 77
    assert cache.data[3, 2, 5, 3] == 77
    assert cache.layer(0, "key").shape == (1, 3, CAPACITY, 4)
    assert all(cache.layer(i, kind).flags.c_contiguous for i in range(2) for kind in ("key", "value"))


def random_tree(rng: np.random.Generator, rows: int) -> tuple[np.ndarray, np.ndarray, list[list[int]]]:
    """(visibility [S, S], depths [S], path from the root to each row) of a random tree, parents first."""
    paths = [[0]]
    for row in range(1, rows):
        paths.append([*paths[int(rng.integers(0, row))], row])
    sees = np.zeros((rows, rows), np.bool_)
    for row, path in enumerate(paths):
        sees[row, path] = True
    return sees, np.array([len(p) - 1 for p in paths]), paths


def held(model: Model) -> list[np.ndarray]:
    """Committed rows of target and draft: keys and values of every layer."""
    assert model.draft is not None
    return [c.data[:, :, : c.length].copy() for c in (model.target.cache, model.draft.cache)]


def prefill(model: Model, tokens: list[int], hidden: np.ndarray) -> list[np.ndarray]:
    """Rows of a fresh pass over a text; the draft pairs row t with token t + 1 (here: with t again) and `hidden`."""
    assert model.draft is not None
    model.reset()
    at = np.arange(len(tokens))
    model.target.forward(tokens, at)
    model.draft.forward(np.array(tokens), hidden[: len(tokens)], at, 2)
    for cache in (model.target.cache, model.draft.cache):
        cache.advance(len(tokens))
    return held(model)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("start", [1, 7, 30])  # never 0: with no past, the kernel counts positions by itself
def test_a_kept_path_equals_a_fresh_prefill(tiny: Loaded, seed: int, start: int) -> None:
    """Row 10: a random tree is verified and one of its paths kept; both caches are then those of the path alone."""
    model = tiny(Tiny(head_precision="float32", source=TinySource(seed=1)))
    assert model.draft is not None
    rng = np.random.default_rng([seed, start])
    text = rng.integers(3, VOCAB, start).tolist()
    sees, depths, paths = random_tree(rng, 14)
    nodes = rng.integers(3, VOCAB, 14)
    hidden = rng.normal(0, 1, (start + 14, model.draft.hidden_size)).astype(np.float32)
    path = max(paths, key=lambda p: (len(p), rng.random()))
    prefill(model, text, hidden)
    model.target.forward(nodes, start + depths, sees)
    model.draft.forward(nodes, hidden[start + depths], start + depths, 2, sees=sees)
    for cache in (model.target.cache, model.draft.cache):
        cache.keep(path)
    found = held(model)
    want = prefill(model, [*text, *nodes[path].tolist()], hidden)
    for a, b in zip(found, want, strict=True):
        assert a.shape == b.shape
        assert np.abs(a - b).max() < 1e-4
    assert path != list(range(len(path)))  # rows were moved
