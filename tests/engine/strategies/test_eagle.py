"""EAGLE-3 drafting against the numpy references: right pairs, positions, parents and masks at every level."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest

from engine.config import EngineConfig
from engine.draft_head import DraftHead
from engine.model import Model
from engine.session import ChatSession
from engine.strategies.eagle import Eagle
from engine.trace import Round, Turn
from tests.engine.conftest import Loaded
from tests.reference.eagle_numpy import EagleReference
from tests.reference.layers_numpy import causal_mask
from tests.reference.llama_numpy import LlamaReference, random_weights
from tests.tiny import DIMS, VOCAB, Tiny, TinySource, embeddings, teacher_head
from tests.turns import ASK, PLAIN, TREE, ids, record, user

EXACT_HEAD = Tiny(head_precision="float32")


@cache
def target_reference() -> LlamaReference:
    """The tiny target in float64."""
    source = TinySource()
    return LlamaReference({name: source.tensor(name) for name in random_weights(DIMS)}, DIMS)


@cache
def head_reference() -> EagleReference:
    """The teacher head in float64."""
    table = embeddings(DIMS, 0)
    return EagleReference(teacher_head(), lambda tokens: table[np.asarray(tokens)])


@cache
def streams(text: tuple[int, ...]) -> np.ndarray:
    """Hidden streams of a text, [L, taps · hidden]."""
    model = target_reference()
    rows = np.arange(len(text))
    return model.forward(model.embed(text), rows, causal_mask(len(text)), model.cache())[1]


def log_probs(text: tuple[int, ...], path: list[int]) -> np.ndarray:
    """What the head expects after `text` and the drafted `path`, [draft vocabulary]: a chain, one pass per level."""
    head = head_reference()
    cache = head.cache()
    pairs = len(text) - 1
    rows = np.arange(pairs)
    hidden = head.fc(streams(text)[:pairs])
    scores, out = head.draft(text[1:], hidden, rows, causal_mask(pairs), cache)
    for level, token in enumerate(path):
        scores, out = head.draft([token], out[-1:], np.array([pairs + level]), causal_mask(1, pairs + level), cache)
    return scores[-1]


def check_tree(r: Round, text: tuple[int, ...]) -> int:
    """Every candidate has the probability, and the rank, that a chain of its own would give it; nodes checked."""
    ids_of = np.arange(len(teacher_head().d2t)) + teacher_head().d2t
    children: dict[int, list[Any]] = {}
    for node in r.nodes[1:]:
        children.setdefault(node.parent, []).append(node)
    for parent, nodes in children.items():
        path, at = [], parent
        while at:
            path.insert(0, r.nodes[at].token)
            at = r.nodes[at].parent
        scores = log_probs(text, path)
        best = np.sort(scores)[::-1]
        for node in nodes:
            assert abs(node.logprob - scores[ids_of == node.token][0]) < 2e-3
            assert abs(node.logprob - best[node.rank]) < 2e-3
    return len(r.nodes) - 1


@pytest.mark.parametrize(
    "config",
    [TREE, TREE.with_(eagle_topk=1, eagle_depth=5), TREE.with_(exact=False, eagle_topk=3, eagle_depth=3)],
    ids=["tree", "chain", "loose"],
)
def test_every_candidate_has_the_probability_of_its_own_chain(tiny: Loaded, config: EngineConfig) -> None:
    """Rows 25, 26: embeddings, hidden states of the own parent, positions and masks, also after partial accepts."""
    model = tiny(EXACT_HEAD)
    turn = record(ChatSession(model, config.with_(max_new_tokens=24)).generate(user(ASK)))
    text = [*model.tokenizer.encode_chat(user(ASK)), *ids(turn)]
    checked, deep = 0, 0
    for r in turn.rounds[:: max(1, len(turn.rounds) // 6)]:
        waiting = [t.id for t in r.replayed[1:]] + [r.nodes[0].token] if r.replayed else []
        known = (*text[: r.kv.before + 1], *waiting)
        if known != tuple(text[: len(known)]):
            continue  # a provisional token that was corrected later
        checked += check_tree(r, known)
        deep += max(n.depth for n in r.nodes) > 2
    assert checked >= 20
    assert deep >= 2


def test_drafting_after_reuse_and_plain_rounds(tiny: Loaded) -> None:
    """Rows 28, 29: hidden states exist for every position when the head has to catch up over both."""
    model = tiny(EXACT_HEAD)
    session = ChatSession(model, TREE.with_(max_new_tokens=6))
    first = record(session.generate(user(ASK)))
    talk = [*user(ASK), {"role": "assistant", "content": first.end.text}, {"role": "user", "content": "foo bar"}]
    session.config = PLAIN.with_(max_new_tokens=12)
    turn = Turn()
    for event in session.generate(talk):
        turn.add(event)
        if isinstance(event, Round) and event.index == 4:
            session.config = TREE
    assert turn.start.reused_tokens > 10
    r = next(r for r in turn.rounds if len(r.nodes) > 1)
    text = [*model.tokenizer.encode_chat(talk), *ids(turn)]
    assert check_tree(r, tuple(text[: r.kv.before + 1])) >= 20


def test_hidden_states_handed_on_are_those_of_the_text(tiny: Loaded, monkeypatch: pytest.MonkeyPatch) -> None:
    """Row 26: whatever tree was verified, the streams learnt for each position are those of the final text."""
    model = tiny(Tiny())
    learnt: dict[int, tuple[np.ndarray, int, int]] = {}
    extend = Eagle.extend

    def spy(self: Eagle, position: int, hidden: np.ndarray, tokens: list[int], after: list[int]) -> None:
        for i, token in enumerate(tokens):
            learnt[position + i] = hidden[i].copy(), token, after[i]
        extend(self, position, hidden, tokens, after)

    monkeypatch.setattr(Eagle, "extend", spy)
    for config in (TREE, TREE.with_(exact=False, eagle_topk=8)):
        learnt.clear()
        turn = record(ChatSession(model, config).generate(user(ASK)))
        text = [*model.tokenizer.encode_chat(user(ASK)), *ids(turn)]
        model.reset()
        want = model.target.forward(text, np.arange(len(text))).hidden
        assert sorted(learnt) == list(range(len(text) - 1))
        for at, (hidden, token, after) in learnt.items():
            assert (token, after) == (text[at], text[at + 1])
            assert np.abs(hidden - want[at]).max() < 1e-3


def drafting(model: Model, tokens: list[int]) -> Eagle:
    """A strategy that knows a text; the last of `tokens` is the root."""
    assert model.draft is not None
    model.reset()
    strategy = Eagle(model.draft)
    hidden = model.target.forward(tokens, np.arange(len(tokens))).hidden
    strategy.extend(0, hidden[:-1], tokens[:-1], tokens[1:])
    return strategy


TEXT = np.random.default_rng(3).integers(3, VOCAB, 30).tolist()


def draw(strategy: Eagle, config: EngineConfig = TREE, max_depth: int = 99, max_nodes: int = 99) -> Any:
    """A whole draft."""
    levels = strategy.draft(TEXT[-1], len(TEXT) - 1, config, max_depth, max_nodes)
    try:
        while True:
            next(levels)
    except StopIteration as done:
        return done.value


def test_nothing_of_a_draft_stays(tiny: Loaded) -> None:
    """Rows of the tree are dropped: the same draft again, after one that was closed half-way, is the same."""
    model = tiny(Tiny())
    strategy = drafting(model, TEXT)
    first = draw(strategy)
    assert model.draft is not None
    assert model.draft.cache.length == strategy.length == len(TEXT) - 1
    strategy = drafting(model, TEXT)
    levels: Iterator[Any] = strategy.draft(TEXT[-1], len(TEXT) - 1, TREE, 99, 99)
    next(levels)
    next(levels)
    levels.close()
    assert strategy.length == len(TEXT) - 1
    strategy = drafting(model, TEXT)
    second = draw(strategy)
    assert all(np.array_equal(a, b) for a, b in zip(first.candidates, second.candidates, strict=True))


@pytest.mark.parametrize(("max_depth", "max_nodes"), [(1, 99), (2, 99), (99, 1), (99, 3), (3, 5)])
def test_a_draft_stays_within_its_limits(tiny: Loaded, max_depth: int, max_nodes: int) -> None:
    """What the reply or the context has left: no level deeper, no node more."""
    drafted = draw(drafting(tiny(Tiny()), TEXT), max_depth=max_depth, max_nodes=max_nodes)
    assert drafted.candidates.depth.max() == min(max_depth, TREE.eagle_depth)
    assert len(drafted.rows.nodes) - 1 == min(max_nodes, TREE.draft_predict_length, len(drafted.candidates.depth) - 1)


@pytest.mark.parametrize(("max_depth", "max_nodes"), [(0, 9), (9, 0), (-1, 9)])
def test_no_room_means_no_draft(tiny: Loaded, max_depth: int, max_nodes: int) -> None:
    """The last token of a reply needs no draft, and costs no pass of the head."""
    model = tiny(Tiny())
    strategy = drafting(model, TEXT)
    assert draw(strategy, max_depth=max_depth, max_nodes=max_nodes) is None
    assert model.draft is not None
    assert model.draft.cache.length == 0  # nothing ran
    assert strategy.length == len(TEXT) - 1


def test_a_root_that_does_not_follow_is_not_drafted_from(tiny: Loaded) -> None:
    """The last pair must hold the root; otherwise the tree would grow from another text."""
    strategy = drafting(tiny(Tiny()), TEXT)
    assert list(strategy.draft(TEXT[-1] + 1, len(TEXT) - 1, TREE, 9, 9)) == []
    assert list(Eagle(tiny(Tiny()).draft).draft(5, 0, TREE, 9, 9)) == []  # type: ignore[arg-type]


@pytest.mark.parametrize("cut", [0, 1, 10, 28, 29, 40])
@pytest.mark.parametrize("ran", [False, True], ids=["waiting", "cached"])
def test_truncate_forgets_from_a_position_on(tiny: Loaded, cut: int, ran: bool) -> None:
    """Rows wait or lie in the cache; from either, what was cut can be learnt anew and drafts the same."""
    model = tiny(Tiny())
    want = draw(drafting(model, TEXT))
    strategy = drafting(model, TEXT)
    hidden = model.target.forward(TEXT, np.arange(len(TEXT))).hidden.copy()
    if ran:
        draw(strategy)
    strategy.truncate(cut)
    assert strategy.length == min(cut, len(TEXT) - 1)
    at = min(cut, len(TEXT) - 2)  # the last row always comes anew, as it does in a turn
    strategy.extend(at, hidden[at:-1], TEXT[at:-1], TEXT[at + 1 :])
    found = draw(strategy)
    assert np.array_equal(found.candidates.token, want.candidates.token)
    assert np.allclose(found.candidates.logprob, want.candidates.logprob, atol=1e-5)


def test_a_gap_is_refused(tiny: Loaded) -> None:
    """Row 28: a position without hidden state must never be skipped in silence."""
    strategy = drafting(tiny(Tiny()), TEXT)
    with pytest.raises(ValueError, match="draft rows end at 29, text continues at 31"):
        strategy.extend(31, np.zeros((1, 3 * DIMS.hidden_size), np.float32), [5], [6])


def test_long_catch_up_runs_in_chunks(tiny: Loaded, monkeypatch: pytest.MonkeyPatch) -> None:
    """A prompt decoded plainly is read by the head later, in passes that can be stopped between."""
    model = tiny(Tiny())
    text = np.random.default_rng(4).integers(3, VOCAB, 300).tolist()
    sizes: list[int] = []
    fuse = DraftHead.fuse

    def spy(self: DraftHead, hidden: np.ndarray) -> np.ndarray:
        sizes.append(len(hidden))
        return fuse(self, hidden)

    monkeypatch.setattr(DraftHead, "fuse", spy)
    strategy = drafting(model, text)
    levels = strategy.draft(text[-1], len(text) - 1, TREE, 1, 99)
    next(levels)
    assert sizes == [128, 128, 43]
    assert strategy.length == 299
