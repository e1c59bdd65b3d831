"""The numpy references agree with themselves: whoever is checked against them must be able to trust them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.models.eagle_checkpoint import read_eagle_checkpoint
from tests.reference.eagle_numpy import EagleReference
from tests.reference.layers_numpy import KvCache, attend, causal_mask, rotate
from tests.reference.llama_numpy import LlamaReference, random_weights
from tests.tiny_eagle import TARGET, head_config, head_tensors, write_head

DIMS = replace(TARGET, layer_nums=4, hidden_taps=(0, 2, 4))
ROWS = 7
TOKENS = np.random.default_rng(3).integers(0, DIMS.vocab_size, ROWS)
FANCY = {
    **{f"midlayer.self_attn.{m}_proj.bias": (8 if m in "kv" else 16,) for m in "qkvo"},
    **{f"midlayer.self_attn.{m}_norm.weight": (4,) for m in "qk"},
    **{f"fc_norm.{i}.weight": (16,) for i in range(3)},
    "fc.bias": (16,),
}
Run = Callable[[Any, Any, Any, KvCache], Any]


def llama(tied: bool) -> tuple[Run, Callable[[], KvCache]]:
    """A run of chosen rows of a fixed text, and a maker of caches."""
    dims = replace(DIMS, tied_embeddings=tied)
    model = LlamaReference(random_weights(dims), dims)
    return lambda rows, at, mask, cache: model.forward(model.embed(TOKENS[rows]), at, mask, cache), model.cache


def eagle(folder: Path, config: dict[str, Any], extra: dict[str, Any]) -> tuple[Run, Callable[[], KvCache]]:
    """The same of a head, over random hidden streams."""
    head = read_eagle_checkpoint(write_head(folder, head_config(**config), head_tensors(extra)), TARGET)
    rng = np.random.default_rng(5)
    embeddings, taps = rng.normal(size=(64, 16)), rng.normal(size=(ROWS, 48))
    model = EagleReference(head, lambda ids: embeddings[ids])
    return lambda rows, at, mask, cache: model.draft(TOKENS[rows], model.fc(taps[rows]), at, mask, cache), model.cache


@pytest.fixture(params=["tied", "untied", "eagle", "eagle-normed-residual", "eagle-3.1", "input-norm"])
def model(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Run, Callable[[], KvCache]]:
    """Each kind of model the references know."""
    kinds: dict[str, Callable[[], Any]] = {
        "tied": lambda: llama(True),
        "untied": lambda: llama(False),
        "eagle": lambda: eagle(tmp_path, {}, {}),
        "eagle-normed-residual": lambda: eagle(tmp_path, {"norm_before_residual": True}, {}),
        "eagle-3.1": lambda: eagle(tmp_path, {"norm_output": True}, FANCY),
        "input-norm": lambda: eagle(tmp_path, {}, {"input_norm.weight": (48,)}),
    }
    return kinds[request.param]()


def close(a: Any, b: Any) -> bool:
    """Equal to rounding, in every output."""
    return all(np.allclose(x, y, atol=1e-11) for x, y in zip(a, b, strict=True))


def test_one_by_one_equals_all_at_once(model: Any) -> None:
    """The cache holds exactly what later rows need."""
    run, cache = model
    full = run(slice(None), np.arange(ROWS), causal_mask(ROWS), cache())
    growing = cache()
    steps = [run([i], np.array([i]), causal_mask(1, i), growing) for i in range(ROWS)]
    assert close([np.concatenate(parts) for parts in zip(*steps, strict=True)], full)
    assert len(growing) == ROWS


def test_tree_rows_equal_their_own_chains(model: Any) -> None:
    """A node behind a tree mask gives what its path gives alone: the ground of tree verification."""
    run, cache = model
    parents, depths = [-1, 0, 0, 1, 2], np.array([0, 1, 1, 2, 2])
    paths = [[0], [0, 1], [0, 2], [0, 1, 3], [0, 2, 4]]
    mask = np.full((5, 5), -np.inf)
    for node, path in enumerate(paths):
        assert parents[node] == (path[-2] if len(path) > 1 else -1)
        mask[node, path] = 0
    tree = run(np.arange(5), depths, mask, cache())
    for node, path in enumerate(paths):
        chain = run(path, np.arange(len(path)), causal_mask(len(path)), cache())
        assert close([out[-1] for out in chain], [out[node] for out in tree])


def test_dropped_rows_leave_no_trace(model: Any) -> None:
    """Keeping rows 0, 1 and 3 of a pass equals never having run row 2."""
    run, cache = model
    mask = causal_mask(4)
    mask[3, 2] = -np.inf
    dropped, plain = cache(), cache()
    run([0, 1, 2, 3], np.array([0, 1, 2, 2]), mask, dropped)
    dropped.keep([0, 1, 3])
    run([0, 1, 3], np.arange(3), causal_mask(3), plain)
    after = [run([4], np.array([3]), causal_mask(1, 3), c) for c in (dropped, plain)]
    assert close(*after)


def test_only_distances_of_positions_count(model: Any) -> None:
    """Rotary attention depends on differences; moving one row must change the result."""
    run, cache = model
    at = np.arange(ROWS)
    base = run(slice(None), at, causal_mask(ROWS), cache())
    assert close(run(slice(None), at + 100, causal_mask(ROWS), cache()), base)
    moved = run(slice(None), at + (at >= 3), causal_mask(ROWS), cache())
    assert not close(moved, base)


def test_rotation_by_hand() -> None:
    """Two elements, position 1, theta any: a turn by one radian."""
    x = np.array([[[1.0, 0.0]], [[0.0, 1.0]]])
    turned = rotate(x, np.array([1, 1]), 123.0)[:, 0]
    assert np.allclose(turned, [[np.cos(1), np.sin(1)], [-np.sin(1), np.cos(1)]])
    four = rotate(np.ones((1, 1, 4)), np.array([1]), 100.0)[0, 0]  # speeds 1 and 100^(-1/2) = 0.1
    assert np.allclose(four[[0, 2]], [np.cos(1) - np.sin(1), np.cos(1) + np.sin(1)])
    assert np.allclose(four[[1, 3]], [np.cos(0.1) - np.sin(0.1), np.cos(0.1) + np.sin(0.1)])


def test_attention_by_hand() -> None:
    """Heads 0, 1 read key head 0 and heads 2, 3 key head 1; scores ln 3 apart weigh 3 to 1."""
    q = np.full((1, 4, 1), np.log(3.0))
    k = np.array([[[1.0], [0.0]], [[0.0], [0.0]]])
    v = np.array([[[4.0], [10.0]], [[8.0], [20.0]]])
    assert np.allclose(attend(q, k, v, np.zeros((1, 2))), [[5, 5, 15, 15]])
    assert np.allclose(attend(q, k, v, np.array([[-np.inf, 0.0]])), [[8, 8, 20, 20]])


def test_taps_are_streams_after_k_layers() -> None:
    """k = 0 is the embeddings, and the taps of a shorter model are the same streams."""
    weights = random_weights(DIMS)
    model = LlamaReference(weights, DIMS)
    run = (model.embed(TOKENS), np.arange(ROWS), causal_mask(ROWS))
    _, taps = model.forward(*run, model.cache())
    low, mid, high = np.split(taps, 3, axis=-1)
    assert np.array_equal(low, model.embed(TOKENS))
    short = LlamaReference(weights, replace(DIMS, layer_nums=2, hidden_taps=(0, 1, 2)))
    assert np.allclose(short.forward(*run, short.cache())[1][:, -16:], mid)
    assert not np.allclose(mid, high)


def test_log_probabilities_sum_to_one(tmp_path: Path) -> None:
    """Scores of a tree add up along paths, so they must be true log-probabilities over the draft vocabulary."""
    run, cache = eagle(tmp_path, {}, {})
    scores, hidden = run(slice(None), np.arange(ROWS), causal_mask(ROWS), cache())
    assert scores.shape == (ROWS, 24)
    assert hidden.shape == (ROWS, 16)
    assert np.allclose(np.exp(scores).sum(axis=-1), 1)
