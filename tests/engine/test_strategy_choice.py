"""Which strategy runs: changed between rounds, missing, misspelt, or not fitting the model."""

from __future__ import annotations

import pytest

from engine.config import EngineConfig
from engine.errors import ConfigError
from engine.model import Model
from engine.session import ChatSession
from engine.trace import Round, Turn
from tests.engine.conftest import Loaded
from tests.tiny import Tiny
from tests.turns import ASK, COPY, MTP, PLAIN, TREE, ids, record, reply, user

CHAIN = TREE.with_(eagle_topk=1)
SWITCHES = [PLAIN, TREE, MTP, CHAIN, COPY, TREE.with_(exact=False), PLAIN.with_(plain_rows=1), TREE.with_(eagle_topk=8)]


def test_settings_change_between_rounds(tiny: Loaded) -> None:
    """Strategy, tree and exactness may change at every round; the text stays, and each record says what it used."""
    model = tiny(Tiny(mtp="teacher"))
    want = ids(reply(model, PLAIN))
    session = ChatSession(model, SWITCHES[0])
    turn = Turn()
    for event in session.generate(user(ASK)):
        turn.add(event)
        if isinstance(event, Round):
            used = SWITCHES[event.index % len(SWITCHES)]
            assert event.settings.strategy == (used.speculative_type or "plain")
            assert event.settings.eagle_topk == used.eagle_topk
            session.config = SWITCHES[(event.index + 1) % len(SWITCHES)]
    assert ids(turn) == want
    assert {len(r.nodes) > 1 for r in turn.rounds} == {True, False}


def test_switches_keep_the_promise_to_the_last_bit(brittle: Model) -> None:
    """From tree to plain and back between rounds, with tokens waiting to be confirmed, the exact text stays."""
    want = ids(reply(brittle, PLAIN))
    session = ChatSession(brittle, TREE)
    turn = Turn()
    for event in session.generate(user(ASK)):
        turn.add(event)
        session.config = TREE if isinstance(event, Round) and event.index % 3 else PLAIN
    assert ids(turn) == want
    assert any(r.replayed and r.settings.strategy == "plain" for r in turn.rounds)


def test_without_a_head_it_decodes_plainly_and_says_why(tiny: Loaded) -> None:
    """Row 36: eagle on a folder without a head is plain decoding, and the record holds the reason."""
    model = tiny(Tiny(head="none"))
    assert not model.has_draft
    turn = reply(model, TREE)
    assert (turn.start.strategy, {r.settings.strategy for r in turn.rounds}) == ("plain", {"plain"})
    assert "tiny has no EAGLE-3 draft head" in turn.start.reason
    assert ids(turn) == ids(reply(model, PLAIN))
    assert reply(model, PLAIN).start.reason == ""


def test_an_unknown_strategy_lists_the_known(brittle: Model) -> None:
    """A typo in the configuration is answered with the choices, before anything runs."""
    session = ChatSession(brittle, EngineConfig(speculative_type="eagel"))
    with pytest.raises(ConfigError, match=r"'eagel'.*plain.*eagle"):
        next(iter(session.generate(user(ASK))))
    session.config = TREE
    assert ids(record(session.generate(user(ASK)))) == ids(reply(brittle, TREE))


def test_an_unknown_strategy_in_mid_turn(brittle: Model) -> None:
    """Set while a turn runs, it ends the turn with that error and leaves the session usable."""
    session = ChatSession(brittle, TREE)
    events = session.generate(user(ASK))
    assert any(isinstance(event, Round) and event.index == 1 for event in events)
    session.config = TREE.with_(speculative_type="eagel")
    with pytest.raises(ConfigError, match="'eagel'"):
        next(events)
    session.config = TREE
    assert ids(record(session.generate(user(ASK)))) == ids(reply(brittle, TREE))


def test_a_head_that_does_not_match_raises_the_alarm(tiny: Loaded) -> None:
    """Row 22: hardly a draft accepted over 64 rounds is said, a working head and a short turn say nothing."""
    random = tiny(Tiny(head="random"))
    chain = TREE.with_(eagle_topk=1, max_new_tokens=120)
    warned = reply(random, chain)
    assert warned.stats().tau <= 1.02
    assert "does not match this model" in warned.end.warning
    assert reply(random, chain.with_(max_new_tokens=40)).end.warning == ""
    assert reply(random, PLAIN.with_(max_new_tokens=120)).end.warning == ""
    assert reply(tiny(Tiny()), TREE.with_(max_new_tokens=200)).end.warning == ""
