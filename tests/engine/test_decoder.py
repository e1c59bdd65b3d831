"""How a verify pass is laid out, and what is decided and committed from it."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.config import EngineConfig, SamplingConfig
from engine.decoder import Decoder, Layout, lay_out
from engine.kv_cache import KVCache
from engine.sampling import Sampler
from engine.strategies.base import Proposal
from engine.strategies.plain import Plain
from engine.target import TargetPass
from engine.token_tree import TokenTree

ROOT = 99


def proposal(seed: int, topk: int, depth: int, nodes: int) -> Proposal:
    """A random tree; some tokens occur twice among siblings' cousins, none among siblings."""
    rng = np.random.default_rng(seed)
    tree = TokenTree(topk)

    def scores(rows: int) -> np.ndarray:
        return -np.sort(rng.exponential(1, (rows, topk)))

    tree.init(rng.permutation(40)[:topk], scores(1)[0])
    for _ in range(depth - 1):
        active = len(tree.get_ids())
        tree.grow(np.array([rng.permutation(40)[:topk] for _ in range(active)]), scores(active))
    return Proposal(tree.candidates, tree.finalize(ROOT, nodes), "head")


def paths(p: Proposal, layout: Layout) -> list[list[int]]:
    """Pool ids from the root to the node of every row behind `head`, by the candidates' own parents."""
    found = []
    for node in layout.nodes.tolist():
        path = [node]
        while path[0]:
            path.insert(0, int(p.candidates.parent[path[0]]))
        found.append(path)
    return found


TREES = st.builds(proposal, st.integers(0, 999), st.integers(1, 4), st.integers(1, 4), st.integers(1, 20))
PENDING = st.lists(st.integers(200, 300), max_size=4).map(lambda tokens: [*tokens, ROOT])


@settings(deadline=None)
@given(TREES, PENDING, st.integers(0, 50), st.booleans())
def test_every_row_sees_its_own_past(p: Proposal, pending: list[int], start: int, exact: bool) -> None:
    """Row 13: tokens, positions and visibility of pending tokens, root and nodes, for both orders."""
    layout = lay_out(pending, start, p, exact=exact, pad_to=2)
    head = len(pending) - 1
    assert layout.head == head
    assert layout.tokens[: head + 1].tolist() == pending
    assert layout.positions[: head + 1].tolist() == list(range(start, start + head + 1))
    assert sorted(layout.nodes.tolist()) == sorted(p.rows.nodes.tolist())
    assert layout.sees is not None
    assert np.array_equal(layout.sees[: head + 1], np.tri(head + 1, len(layout.tokens), dtype=bool))
    row_of = {node: head + row for row, node in enumerate(layout.nodes.tolist())}
    for row, path in enumerate(paths(p, layout), head):
        seen = {*range(head), *(row_of[node] for node in path)}
        assert set(np.flatnonzero(layout.sees[row]).tolist()) == seen
        assert max(seen) == row  # the kernel is causal: a parent must come before its children
        assert layout.positions[row] == start + head + len(path) - 1
        assert len(path) == 1 or layout.tokens[row] == p.candidates.token[path[-1]]


@settings(deadline=None)
@given(TREES, PENDING)
def test_exact_mode_puts_the_likeliest_path_first(p: Proposal, pending: list[int]) -> None:
    """Rows of the first path follow the root directly, each the likeliest child, as plain decoding would place them."""
    layout = lay_out(pending, 5, p, exact=True, pad_to=2)
    cum, parent = p.candidates.cum_logprob, p.candidates.parent
    kept = set(layout.nodes.tolist())
    node, row = 0, 0
    while children := [i for i in kept if i and parent[i] == node]:
        node, row = max(children, key=lambda i: (cum[i], -i)), row + 1
        assert layout.nodes[row] == node
        assert layout.sees is not None
        assert layout.sees[layout.head + row, : layout.head + row + 1].all()
    creation = lay_out(pending, 5, p, exact=False, pad_to=2)
    assert creation.nodes.tolist() == sorted(kept)


@settings(deadline=None)
@given(TREES, PENDING, st.booleans())
def test_children_are_found_by_token(p: Proposal, pending: list[int], exact: bool) -> None:
    """The walk must reach every verified node, and nothing but its own children from a row."""
    layout = lay_out(pending, 0, p, exact=exact, pad_to=2)
    assert len(layout.children) == len(layout.nodes)
    reached = {0}
    for row, children in enumerate(layout.children):
        for token, child in children.items():
            node = int(layout.nodes[child - layout.head])
            assert p.candidates.parent[node] == layout.nodes[row]
            assert layout.tokens[child] == token == p.candidates.token[node]
            reached.add(node)
    assert reached == set(layout.nodes.tolist())


@pytest.mark.parametrize(("pending", "pad_to", "rows"), [([7], 1, 1), ([7], 2, 2), ([7, 8], 2, 2), ([7, 8, 9], 2, 3)])
def test_without_a_draft_a_short_pass_is_padded(pending: list[int], pad_to: int, rows: int) -> None:
    """One row would run other kernels than a wider pass: a copy of the root joins it, behind it."""
    layout = lay_out(pending, 10, None, exact=True, pad_to=pad_to)
    assert layout.tokens.tolist() == (pending + [pending[-1]] * rows)[:rows]
    assert layout.positions.tolist() == list(range(10, 10 + rows))
    assert layout.sees is None
    assert (layout.head, layout.children) == (len(pending) - 1, [{}])


class ScriptedTarget:
    """A target that always continues a token by `follow[token]`, and leaves its row numbers in the cache."""

    def __init__(self, follow: dict[int, int]) -> None:
        self.cache = KVCache(1, 1, 2, 64)
        self.follow = follow

    def forward(self, tokens: Any, positions: Any, sees: Any = None, last_only: bool = False) -> TargetPass:
        rows = np.array(tokens)
        logits = np.zeros((len(rows), 400), np.float32)
        logits[range(len(rows)), [self.follow.get(int(t), 0) for t in rows]] = 9
        self.cache.data[:, :, self.cache.length : self.cache.length + len(rows)] = rows[:, None]
        return TargetPass(logits, np.repeat(rows[:, None], 3, axis=1).astype(np.float32))


class Listener(Plain):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.heard: list[tuple[int, list[float], list[int], list[int]]] = []

    def extend(self, position: int, hidden: Any, tokens: list[int], next_tokens: list[int]) -> None:
        self.heard.append((position, hidden[:, 0].tolist(), tokens, next_tokens))


def tree_of(*children: tuple[int, list[int]]) -> Proposal:
    """Two levels of two children: (parent among the first level, tokens), likeliest first."""
    tree = TokenTree(2)
    tree.init([10, 20], np.log([0.6, 0.3]))
    tree.grow([tokens for _, tokens in children], np.log([[0.6, 0.3], [0.6, 0.3]]))
    return Proposal(tree.candidates, tree.finalize(ROOT, 6), "head")


def decide(
    follow: dict[int, int], pending: list[int], exact: bool, used: int | None = None
) -> tuple[Decoder, list[tuple[int, str]], list[tuple[int, str]], Listener]:
    """One round over the tree ROOT → (10 → 11, 12; 20 → 21, 22): decoder, sound, provisional, what a strategy heard."""
    target, listener = ScriptedTarget(follow), Listener()
    target.cache.advance(5)
    decoder = Decoder(target)  # type: ignore[arg-type]
    decoder.pending = [*pending, ROOT]
    v = decoder.verify(tree_of((0, [11, 12]), (1, [21, 22])), EngineConfig(exact=exact), pad_to=2)
    decoder.accept(v, Sampler(SamplingConfig()), [], exact=exact)
    decoder.commit(v, len(v.sound) if used is None else used, [listener], ended=used is not None)
    sound, provisional = ([(d.token, d.source) for d in part] for part in (v.sound, v.provisional))
    return decoder, sound, provisional, listener


def committed(decoder: Decoder) -> list[int]:
    """Tokens whose rows lie in the cache behind the first five."""
    return decoder.target.cache.data[0, 0, 5 : decoder.target.cache.length, 0].astype(int).tolist()


def test_second_children_are_accepted() -> None:
    """Row 26: 20 is the second child, 22 its second; their own rows and hidden states are what stays."""
    decoder, sound, provisional, listener = decide({ROOT: 20, 20: 22, 22: 5}, [], exact=False)
    assert (sound, provisional) == ([(20, "draft"), (22, "draft"), (5, "bonus")], [])
    assert committed(decoder) == [ROOT, 20, 22]
    assert decoder.target.cache.canonical == 6  # the root's; the others were moved
    assert decoder.pending == [5]
    assert listener.heard == [(5, [ROOT, 20, 22], [ROOT, 20, 22], [20, 22, 5])]


def test_exact_mode_trusts_the_first_path_only() -> None:
    """20 is decided by the root's own row; what its row decides must be confirmed, so 20 runs again."""
    decoder, sound, provisional, listener = decide({ROOT: 20, 20: 22, 22: 5}, [], exact=True)
    assert sound == [(20, "draft")]
    assert provisional == [(22, "draft"), (5, "bonus")]
    assert committed(decoder) == [ROOT]
    assert decoder.pending == [20, 22, 5]
    assert listener.heard == [(5, [ROOT, 20, 22], [ROOT, 20, 22], [20, 22, 5])]  # the draft may use it at once


def test_exact_mode_keeps_a_whole_first_path() -> None:
    """10 and 11 lie where plain decoding puts them: nothing runs again."""
    decoder, sound, provisional, _ = decide({ROOT: 10, 10: 11, 11: 5}, [], exact=True)
    assert (sound, provisional) == ([(10, "draft"), (11, "draft"), (5, "bonus")], [])
    assert committed(decoder) == [ROOT, 10, 11]
    assert decoder.pending == [5]


def test_leaving_the_first_path_late() -> None:
    """10 is canonical, its second child 12 is not: 12 is sound, decided by 10, and runs again."""
    decoder, sound, provisional, _ = decide({ROOT: 10, 10: 12, 12: 5}, [], exact=True)
    assert (sound, provisional) == ([(10, "draft"), (12, "draft")], [(5, "bonus")])
    assert committed(decoder) == [ROOT, 10]
    assert decoder.pending == [12, 5]


def test_replayed_tokens_are_confirmed() -> None:
    """Pending 50, 60 and the root run as a chain, then the tree decides further."""
    follow = {50: 60, 60: ROOT, ROOT: 10, 10: 5}
    decoder, sound, provisional, listener = decide(follow, [50, 60], exact=True)
    assert sound == [(60, "replay"), (ROOT, "replay"), (10, "draft"), (5, "bonus")]
    assert provisional == []
    assert committed(decoder) == [50, 60, ROOT, 10]
    assert decoder.target.cache.canonical == decoder.target.cache.length
    assert listener.heard == [(5, [50, 60, ROOT, 10], [50, 60, ROOT, 10], [60, ROOT, 10, 5])]


def test_a_correction_drops_everything_behind_it() -> None:
    """50 is followed by 61 after all: 60, the root and its tree were guesses on a wrong text."""
    decoder, sound, provisional, listener = decide({50: 61, 60: ROOT, ROOT: 10}, [50, 60], exact=True)
    assert (sound, provisional) == ([(61, "correction")], [])
    assert committed(decoder) == [50]
    assert decoder.pending == [61]
    assert listener.heard == [(5, [50], [50], [61])]


def test_a_reply_that_ends_inside_a_span() -> None:
    """Rows 3, 7: used tokens but the last keep their rows; the rest of the span is gone."""
    decoder, _, _, listener = decide({ROOT: 10, 10: 11, 11: 5}, [], exact=True, used=2)
    assert committed(decoder) == [ROOT, 10]
    assert decoder.pending == [11]
    assert listener.heard == [(5, [ROOT, 10], [ROOT, 10], [10, 11])]


def test_a_pass_of_one_row_is_not_canonical() -> None:
    """Two pending tokens make a pass of two rows, whatever it is padded to; a lone one has kernels of its own."""
    target = ScriptedTarget({})
    decoder = Decoder(target)  # type: ignore[arg-type]
    for pending, pad_to, canonical in (([7, 8], 1, 2), ([9], 2, 3), ([9], 1, 3), ([9], 2, 3)):
        decoder.pending = pending
        target.follow = dict(pairwise([*pending, 9]))
        v = decoder.verify(None, EngineConfig(), pad_to=pad_to)
        decoder.accept(v, Sampler(SamplingConfig()), [], exact=True)
        decoder.commit(v, len(v.sound), [], ended=False)
        assert target.cache.canonical == canonical
    assert target.cache.length == 5
