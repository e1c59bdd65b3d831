"""Copying what followed before: hand-worked matches, limits, and whole turns that stay those of plain decoding."""

from __future__ import annotations

import math

import pytest

from engine import ChatSession, EngineConfig, Turn
from engine.strategies.copying import Copier
from tests.tiny import Tiny, TinySource


def copier(*tokens: int) -> Copier:
    """One that knows this text."""
    made = Copier()
    made.put(0, tokens)
    return made


def test_what_followed_the_longest_match_is_copied() -> None:
    """1 2 3 stood before and 9 8 7 followed; the shorter match behind 4 3 must not win."""
    known = copier(1, 2, 3, 9, 8, 7, 4, 3, 5, 1, 2, 3)
    logprob = math.log(3 / 4)
    assert known.copied(11, 2) == [(9, logprob), (8, logprob), (7, logprob)]


def test_the_latest_of_equal_matches_wins() -> None:
    """What was said last is likelier to be said again."""
    assert [token for token, _ in copier(1, 2, 5, 0, 1, 2, 6, 9, 1, 2).copied(9, 2)] == [6, 9]


@pytest.mark.parametrize("least", [3, 4, 16])
def test_a_match_too_short_is_no_match(least: int) -> None:
    """The setting says how many tokens must agree."""
    assert copier(7, 1, 2, 9, 8, 1, 2).copied(6, least) == []


def test_a_loop_goes_on() -> None:
    """A match may overlap the end: what turns in a circle goes on turning."""
    assert [token for token, _ in copier(*[5] * 8).copied(7, 2)] == [5] * 7
    assert [token for token, _ in copier(*[1, 2, 3] * 4).copied(11, 2)] == [1, 2, 3] * 3


def test_only_text_up_to_the_root_counts() -> None:
    """Behind a cut nothing is known, and a root that is not the end of the text has nothing to copy."""
    known = copier(1, 2, 3, 1, 2)
    known.truncate(4)
    assert known.copied(4, 1) == []
    assert known.copied(3, 1) != []


def test_a_gap_is_refused() -> None:
    """Text out of step would copy nonsense for the rest of the turn."""
    with pytest.raises(ValueError, match="continues at 9"):
        copier(1, 2).put(9, [3])


@pytest.mark.parametrize("precision", ["float32", "int8"])
def test_turns_with_copies_are_those_of_plain_decoding(tmp_path, precision) -> None:
    """Copied chains are verified like any draft; the head catches up where nothing is copied."""
    from engine import Model

    source = TinySource(ties=0.01, brittle=True)
    model = Model.load(Tiny(precision=precision, source=source).build(tmp_path), threads=1)
    message = [{"role": "user", "content": "the heron the heron the heron is on the sea"}]

    def reply(config: EngineConfig) -> Turn:
        turn = Turn()
        for event in ChatSession(model, config.with_(max_new_tokens=120)).generate(message):
            turn.add(event)
        return turn

    plain = reply(EngineConfig(speculative_type="", plain_rows=2))
    copies = reply(EngineConfig(eagle_topk=2, eagle_depth=2, draft_predict_length=3, eagle_lookup=2))
    assert copies.end.token_ids == plain.end.token_ids
    estimates = {math.log(n / (n + 1)) for n in range(2, 17)}
    chains = [r for r in copies.rounds if r.drafted_by == "copy"]
    assert chains, "nothing was copied"
    assert all(r.nodes[1].logprob in estimates for r in chains)
    assert any(r.drafted_by == "head" for r in copies.rounds), "the head never drafted"
    assert {r.drafted_by for r in plain.rounds} == {"nothing"}
