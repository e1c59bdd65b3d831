"""Stepping through a turn, and records of real turns as files."""

from __future__ import annotations

import time

import pytest

from engine.config import EngineConfig, SamplingConfig
from engine.model import Model
from engine.session import ChatSession
from engine.trace import Phase, Round, Turn
from engine.trace_json import trace_from_json, trace_to_json
from tests.turns import ASK, PLAIN, TREE, ids, reply, user


def test_stepping_shows_every_phase_in_order(brittle: Model) -> None:
    """Phases come in the order of the algorithm, the tree only grows, and the text is the same."""
    want = reply(brittle, TREE)
    session = ChatSession(brittle, TREE)
    session.stepping = True
    turn, phases = Turn(), []
    for event in session.generate(user(ASK)):
        turn.add(event)
        if isinstance(event, Phase):
            assert event.round == len(turn.rounds)
            phases.append(event)
        elif isinstance(event, Round):
            _check_phases(event, phases)
            phases = []
    assert ids(turn) == ids(want)


def _check_phases(r: Round, phases: list[Phase]) -> None:
    levels = max(n.depth for n in r.nodes)
    names = [p.name for p in phases]
    assert names == ["root", *["level"] * levels, "prune", "verify", "accept", "commit"]
    assert [p.level for p in phases] == [0, *range(1, levels + 1), 0, 0, 0, 0]
    assert [len(p.nodes) for p in phases] == sorted(len(p.nodes) for p in phases)
    for p in phases:
        assert p.nodes[0].token == r.nodes[0].token
        assert [(n.parent, n.token, n.logprob) for n in p.nodes] == [
            (n.parent, n.token, n.logprob) for n in r.nodes[: len(p.nodes)]
        ]
    assert {n.id for n in phases[-1].nodes if n.kept} == {n.id for n in r.nodes if n.kept}


def test_waiting_at_a_phase_is_nobodys_time(brittle: Model) -> None:
    """While the window steps, the time between pulls must not count as draft, verify or host time."""
    session = ChatSession(brittle, TREE.with_(max_new_tokens=6))
    session.stepping = True
    turn = Turn()
    for event in session.generate(user(ASK)):
        turn.add(event)
        if isinstance(event, Phase):
            time.sleep(0.02)
    assert turn.end.total_ms > 20 * 6
    assert max(r.timings.total for r in turn.rounds) < 80


@pytest.mark.parametrize("config", [TREE, PLAIN, TREE.with_(eagle_topk=1)], ids=["tree", "plain", "chain"])
def test_records_survive_json(brittle: Model, config: EngineConfig) -> None:
    """A real turn, replayed and provisional tokens included, reads back equal."""
    turn = reply(brittle, config, SamplingConfig(repetition_penalty=1.1, stop=("never",)))
    assert trace_to_json(trace_from_json(trace_to_json(turn))) == trace_to_json(turn)
