"""Runs turns in tests and checks what must hold for every recorded turn, whatever it is about."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from engine.config import EngineConfig, SamplingConfig
from engine.model import Model
from engine.session import ChatSession
from engine.trace import Event, Round, Turn

PLAIN = EngineConfig(speculative_type="", plain_rows=2, max_new_tokens=60)
TREE = EngineConfig(eagle_topk=4, eagle_depth=4, draft_predict_length=12, max_new_tokens=60)
COPY = EngineConfig(
    speculative_type="lookahead", eagle_topk=3, draft_predict_length=8, ngram_update=True, max_new_tokens=60
)
MTP = EngineConfig(speculative_type="mtp", draft_predict_length=4, max_new_tokens=60)
GREEDY = SamplingConfig()
WARM = SamplingConfig(temperature=0.8, top_k=40, top_p=0.95, seed=7)
ASK = "hello there"


def user(text: str) -> list[dict[str, str]]:
    """A conversation of one message."""
    return [{"role": "user", "content": text}]


def record(events: Iterable[Event]) -> Turn:
    """Pull a turn to its end, keep its records and check them."""
    turn = Turn()
    for event in events:
        turn.add(event)
    check(turn)
    return turn


def reply(model: Model, config: EngineConfig, sampling: SamplingConfig = GREEDY, text: str = ASK) -> Turn:
    """One turn of a fresh session."""
    return record(ChatSession(model, config).generate(user(text), sampling))


def ids(turn: Turn) -> tuple[int, ...]:
    """The reply as tokens."""
    assert turn.end is not None
    return turn.end.token_ids


def check(turn: Turn) -> None:
    """Records are consistent: with each other, with the reply, and with the cache."""
    assert turn.start is not None
    assert turn.end is not None
    assert tuple(t.id for t in turn.tokens) == turn.end.token_ids
    shown = (turn.prefill.text if turn.prefill else "") + "".join(r.text for r in turn.rounds)
    assert turn.end.text.startswith(shown)
    if turn.end.finish_reason != "cancelled":
        assert turn.end.text == shown
    assert [r.index for r in turn.rounds] == list(range(len(turn.rounds)))
    for before, after in pairwise(turn.rounds):
        assert after.kv.before == before.kv.before + len(before.kv.kept)
    if turn.rounds:
        assert turn.rounds[0].kv.before == turn.start.prompt_tokens
    for r in turn.rounds:
        _check_tree(r)
        _check_rows(r)


def _check_tree(r: Round) -> None:
    """Nodes in creation order, an accepted path that the target chose, and tokens that the records can explain."""
    assert [n.id for n in r.nodes] == list(range(len(r.nodes)))
    assert all(n.parent < n.id and n.depth == r.nodes[n.parent].depth + 1 for n in r.nodes[1:])
    assert r.nodes[0].parent == -1
    assert r.verified <= (16 if r.drafted_by == "copy" else r.settings.draft_predict_length)
    assert all(n.kept == (n.row >= 0) for n in r.nodes)
    assert all(r.nodes[n.parent].kept for n in r.nodes[1:] if n.kept)
    assert {n.id for n in r.nodes if n.accepted} == set(r.path())
    decided = [t for t in (*r.emitted, *r.provisional) if t.source in ("draft", "bonus", "plain") and t.node >= 0]
    for parent, child in pairwise(r.path()):
        assert r.nodes[child].parent == parent
        assert r.nodes[parent].target_token == r.nodes[child].token
    for token, node in zip([t for t in decided if t.source == "draft"], r.accepted, strict=False):
        assert (token.node, token.id) == (node, r.nodes[node].token)
    for token in decided:
        assert token.source == "draft" or r.nodes[token.node].target_token == token.id


def _check_rows(r: Round) -> None:
    """Rows of the pass, and which of them stayed."""
    head = len(r.replayed)
    rows = sorted(n.row for n in r.nodes if n.kept)
    assert rows == list(range(len(rows)))
    assert r.kv.appended >= head + len(rows)
    assert r.position == r.kv.before + head
    assert all(a < b for a, b in pairwise(r.kv.kept))
    assert r.kv.kept[:1] == (0,)
    assert r.kv.kept[-1] < r.kv.appended
    assert len(r.kv.kept) - len(r.emitted) in (0, 1)  # a stop token takes a step and is not emitted
    t = r.timings
    assert min(t.start, t.total, t.draft, t.verify, t.commit) >= 0
    assert t.draft + t.verify + t.commit <= t.total * 1.001 + 0.01
