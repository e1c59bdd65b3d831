"""What a record says of a round: probabilities, margins, provenance, and the fate of every node."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from engine.config import EngineConfig, SamplingConfig
from engine.decoder import Decoder, Verified
from engine.session import ChatSession
from engine.target import TargetModel
from engine.trace import Round, Settings, Token, Turn
from tests.engine.conftest import Loaded
from tests.tiny import Tiny
from tests.turns import ASK, GREEDY, PLAIN, TREE, WARM, check, ids, reply, user

Passes = list[tuple[np.ndarray, int]]


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> Passes:
    """Logits and number of replayed rows of every verify pass."""
    found: Passes = []
    verify = Decoder.verify

    def spy(self: Decoder, *args: Any, **kwargs: Any) -> Verified:
        verified = verify(self, *args, **kwargs)
        found.append((verified.output.logits.copy(), verified.layout.head))
        return verified

    monkeypatch.setattr(Decoder, "verify", spy)
    return found


@pytest.fixture
def poisoned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows off the first path compute noise, so that what they decide is often corrected."""
    rng, forward = np.random.default_rng(0), TargetModel.forward

    def wrong(self: TargetModel, tokens: Any, positions: Any, sees: Any = None, last_only: bool = False) -> Any:
        out = forward(self, tokens, positions, sees, last_only)
        for row in [] if sees is None else [r for r in range(len(sees)) if not sees[r, : r + 1].all()]:
            out.logits[row] += rng.normal(0, 1, out.logits[row].shape)
        return out

    monkeypatch.setattr(TargetModel, "forward", wrong)


def share(logits: np.ndarray, token: int) -> float:
    """Softmax probability."""
    weights = np.exp(logits.astype(np.float64) - logits.max())
    return float(weights[token] / weights.sum())


def judged(token: Token, logits: np.ndarray) -> bool:
    """Probability and margin are those of these logits."""
    best = np.sort(logits)[::-1]
    return abs(token.prob - share(logits, token.id)) < 1e-5 and abs(token.margin - float(best[0] - best[1])) < 1e-5


@pytest.mark.parametrize("sampling", [GREEDY, WARM], ids=["greedy", "sampled"])
def test_probabilities_and_margins_are_the_targets(tiny: Loaded, passes: Passes, sampling: Any) -> None:
    """Every emitted token carries what the target thought at the row that decided it, at temperature 1, untruncated."""
    turn = reply(tiny(Tiny()), TREE, sampling)
    for r, (logits, head) in zip(turn.rounds, passes, strict=True):
        row, node = 0, 0
        for step, token in enumerate((*r.emitted, *r.provisional)):
            row = step if step < head else head + r.nodes[node].row
            assert judged(token, logits[row])
            if step >= head:
                assert r.nodes[node].target_prob == token.prob
                node = next((n.id for n in r.children(node) if n.accepted and n.token == token.id), -1)
        asked = {n.id for n in r.nodes if not math.isnan(n.target_prob)}
        assert asked <= {n.id for n in r.nodes if n.accepted}


def test_greedy_rounds_know_the_choice_at_every_node(tiny: Loaded, passes: Passes) -> None:
    """The tree view shows what the target wanted off the path as well; when sampling, only on the path."""
    turn = reply(tiny(Tiny()), TREE)
    for r, (logits, head) in zip(turn.rounds, passes, strict=True):
        for n in r.nodes:
            want = int(logits[head + n.row].argmax()) if n.kept else -1
            assert n.target_token == want
            assert bool(n.target_text) == (want >= 0)
    sampled = reply(tiny(Tiny()), TREE, WARM)
    off = [n for r in sampled.rounds for n in r.nodes if n.kept and not n.accepted]
    assert off
    assert {n.target_token for n in off} == {-1}


def test_a_confirmed_token_keeps_its_provenance(tiny: Loaded) -> None:
    """Decided as draft or bonus in one round, confirmed in the next: it is emitted as what it was."""
    turn = reply(tiny(Tiny()), TREE)
    waiting: list[Token] = []
    confirmed = 0
    for r in turn.rounds:
        replayed = r.emitted[: len(waiting)]
        for before, after in zip(waiting, replayed, strict=False):
            assert (after.id, after.source, after.node) == (before.id, before.source, -1)
            confirmed += 1
        assert [t.id for t in r.replayed[1:]] == [t.id for t in waiting[:-1]]
        waiting = list(r.provisional)
    assert confirmed >= 5
    assert {"first", "draft", "bonus"} <= {t.source for t in turn.tokens}
    assert {t.source for t in reply(tiny(Tiny()), PLAIN).tokens} == {"first", "plain"}


def test_counts_agree_with_what_is_shown(tiny: Loaded) -> None:
    """Rows 9, 33: accepted tokens shown are accepted tokens counted; with the bonus tokens they make the reply."""
    for config in (TREE, TREE.with_(exact=False), TREE.with_(max_new_tokens=7)):
        turn = reply(tiny(Tiny()), config)
        stats = turn.stats()
        assert stats.accepted == sum(t.source == "draft" for t in turn.tokens)
        assert stats.emitted == len(ids(turn)) - 1
        assert stats.drafted >= stats.verified >= stats.accepted
        assert stats.tau == pytest.approx(stats.emitted / len(turn.rounds))
        for depth, count in stats.accepted_by_depth.items():
            assert count <= stats.reached_by_depth[depth] <= stats.rounds


def corrected_rounds(turn: Turn) -> list[Round]:
    """Rounds whose tree grew from a token that was then decided otherwise."""
    return [r for r in turn.rounds if any(t.source == "correction" for t in r.emitted)]


@pytest.mark.usefixtures("poisoned")
def test_a_corrected_round_says_so(tiny: Loaded) -> None:
    """Its tree was verified behind a wrong text: no node of it is called accepted, rejected or reached."""
    turn = reply(tiny(Tiny(precision="int8")), TREE.with_(max_new_tokens=150))
    found = corrected_rounds(turn)
    assert len(found) >= 3
    for r in found:
        assert r.corrected
        assert r.accepted == ()
        assert r.provisional == ()
        assert math.isnan(r.nodes[0].target_prob)
        assert r.emitted[-1].source == "correction"
        for n in r.nodes[1:]:
            assert r.fate(n).startswith("dropped: " if n.kept else "pruned ")
        assert r.fate(r.nodes[0]).startswith("replaced: ")
    assert not any(r.corrected for r in turn.rounds if r not in found)
    sound = [r for r in turn.rounds if r not in found]
    assert turn.stats().reached_by_depth == type(turn.stats()).of(sound).reached_by_depth


def test_a_rejected_node_names_another_token(tiny: Loaded) -> None:
    """A node whose parent was accepted is rejected for a token that is not its own."""
    turn = reply(tiny(Tiny()), TREE)
    rejected = 0
    for r in turn.rounds:
        for n in r.nodes[1:]:
            if n.kept and not n.accepted and r.nodes[n.parent].accepted:
                rejected += 1
                assert n.token != r.nodes[n.parent].target_token
                assert repr(r.nodes[n.parent].target_text) in r.fate(n)
    assert rejected >= 20


def test_half_characters_keep_their_bytes(tiny: Loaded) -> None:
    """A record must tell where characters end without the tokenizer: text and bytes are those of the tokens."""
    model = tiny(Tiny(precision="int8"))
    halves = 0
    for seed in range(6):
        turn = reply(model, TREE, SamplingConfig(temperature=2.0, top_k=0, top_p=1.0, seed=seed))
        halves += sum(bool(t.raw) for t in turn.tokens)
        written = [t for t in turn.tokens if model.tokenizer.token_bytes(t.id)]  # all but special ones
        data = [bytes.fromhex(t.raw) if t.raw else t.text.encode() for t in written]
        assert b"".join(data).decode(errors="replace") == model.tokenizer.decode(ids(turn))
        for r in turn.rounds:
            for t in (*r.replayed, *r.provisional):
                assert t.raw == model.tokenizer.raw(t.id)
    assert halves >= 3


def test_an_unlikely_node_was_not_pruned_for_its_rank(tiny: Loaded) -> None:
    """With `draft_min_probability` the limit is often not reached: the record says which of the two it was."""
    turn = reply(tiny(Tiny()), TREE.with_(draft_min_probability=0.2))
    pruned = [(r, n) for r in turn.rounds for n in r.nodes if not n.kept]
    assert {r.settings.draft_min_probability for r in turn.rounds} == {0.2}
    for r, n in pruned:
        unlikely = n.cum_logprob < math.log(0.2)
        assert ("less likely than draft_min_probability 0.2" in r.fate(n)) == unlikely
        assert unlikely or r.verified == TREE.draft_predict_length
    assert pruned


def test_a_record_says_every_setting_in_force(tiny: Loaded) -> None:
    """Changed while the reply is written, settings belong to the rounds after it; the prompt was read as before."""
    kept = [f.name for f in fields(Settings) if f.name in {f.name for f in fields(EngineConfig)}]
    before = TREE.with_(prefill_chunk=16, plain_rows=2)
    after = before.with_(
        prefill_chunk=32, plain_rows=1, max_new_tokens=50, exact=False, eagle_lookup=3, eagle_merge=True,
        ngram_match_maxlen=2, draft_match_strictness="high", draft_selection_rule="fcfs", ngram_update=True,
    )  # fmt: skip
    elsewhere = {"speculative_type", "lookup_file", "prefill_chunk"}
    assert set(kept) == {f.name for f in fields(EngineConfig)} - elsewhere
    session, turn = ChatSession(tiny(Tiny()), before), Turn()
    for event in session.generate(user(ASK)):
        turn.add(event)
        if isinstance(event, Round) and event.index == 1:
            session.config = after
    check(turn)
    assert len(turn.rounds) > 3
    for r in turn.rounds:
        used = before if r.index < 2 else after
        assert {key: getattr(r.settings, key) for key in kept} == {key: getattr(used, key) for key in kept}
    assert turn.prefill is not None
    assert turn.prefill.chunk == 16
