"""Lookahead in whole turns of tiny models: what it knows of a conversation, and what that saves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from engine.config import EngineConfig
from engine.errors import ConfigError
from engine.model import Model
from engine.session import ChatSession
from engine.trace import Event, Phase, Prefill, Round, Turn
from engine.trace_json import trace_from_json, trace_to_json
from tests.engine.conftest import Loaded
from tests.tiny import Tiny
from tests.turns import ASK, COPY, PLAIN, ids, record, reply, user

PROMPT_ONLY = EngineConfig(speculative_type="lookahead", draft_predict_length=6, max_new_tokens=60)


@pytest.fixture
def model(tiny: Loaded) -> Model:
    """A float32 model without any head."""
    return tiny(Tiny(head="none"))


def to_copy(model: Model) -> str:
    """A message that holds what the model writes in answer to it, or most of that: a stand-in for text to be edited."""
    text = ASK
    for _ in range(3):
        text = ASK + reply(model, PLAIN, text=text).end.text
    return text


def drafts(turn: Turn) -> list[object]:
    """Every tree of a turn."""
    return [(r.position, [(n.parent, n.token, n.logprob, n.kept) for n in r.nodes]) for r in turn.rounds]


@pytest.mark.parametrize("config", [PROMPT_ONLY, PROMPT_ONLY.with_(draft_selection_rule="fcfs"), COPY])
def test_copied_text_takes_fewer_passes(model: Model, config: EngineConfig) -> None:
    """Issue 4: on text that repeats the prompt it must beat plain decoding, with MNN's defaults as well; same text."""
    text = to_copy(model)
    plain, turn = reply(model, PLAIN, text=text), reply(model, config, text=text)
    assert ids(turn) == ids(plain)
    assert turn.stats().tau > 1.5
    assert len(turn.rounds) < 0.7 * len(plain.rounds)
    assert max(turn.stats().accepted_by_depth) >= 4


def test_strictness_trades_drafts_for_acceptance(model: Model) -> None:
    """The stricter, the fewer drafts, and the larger the share of them that is accepted."""
    text = to_copy(model)
    stats = [
        reply(model, PROMPT_ONLY.with_(draft_match_strictness=level), text=text).stats()
        for level in ("low", "medium", "high")
    ]
    assert stats[0].drafted > stats[1].drafted >= stats[2].drafted > 0
    assert stats[0].accepted / stats[0].drafted < stats[2].accepted / stats[2].drafted


def test_records_say_what_it_was(model: Model) -> None:
    """Strategy, ranks and shares; a round without a draft is plain and takes two rows; all of it survives JSON."""
    turn = reply(model, COPY, text=to_copy(model))
    assert turn.start.strategy == "lookahead"
    assert turn.start.reason == ""
    assert {r.settings.strategy for r in turn.rounds} == {"lookahead"}
    nodes = [n for r in turn.rounds for n in r.nodes[1:]]
    assert all(n.logprob < 0 and n.cum_logprob <= n.logprob for n in nodes)
    assert {n.rank for n in nodes} == {0, 1, 2}
    silent = [r for r in turn.rounds if len(r.nodes) == 1]
    assert all(t.source == "plain" for r in silent for t in r.emitted)
    assert all(r.kv.appended == 2 for r in silent if not r.replayed)
    assert trace_to_json(trace_from_json(trace_to_json(turn))) == trace_to_json(turn)


def test_reused_rows_are_known_text(model: Model) -> None:
    """Later turns of a session read only what is new, and draft from all of it, as a fresh session does."""
    talk = user(ASK)
    for text in ("an apple", "foo bar"):
        talk += [{"role": "assistant", "content": text}, {"role": "user", "content": f"{ASK} {text}"}]
    parts = [talk[:1], talk[:3], talk]
    fresh = [drafts(record(ChatSession(model, COPY).generate(part))) for part in parts]
    session = ChatSession(model, COPY)
    turns = [record(session.generate(part)) for part in parts]
    assert [drafts(turn) for turn in turns] == fresh
    assert all(turn.start.reused_tokens > 10 for turn in turns[1:])
    assert all(any(r.accepted for r in turn.rounds) for turn in turns)


def test_a_dropped_turn_is_forgotten(model: Model) -> None:
    """Row 16: closed after any round, nothing of its text is drafted from later."""
    fresh = drafts(reply(model, COPY, text="foo bar"))
    for stop in (0, 3, 9):
        session = ChatSession(model, COPY)
        events = session.generate(user(ASK))
        for event in events:
            if isinstance(event, Round) and event.index == stop:
                break
        events.close()
        assert drafts(record(session.generate(user("foo bar")))) == fresh


@pytest.mark.parametrize("update", [False, True])
def test_it_takes_over_in_mid_turn(model: Model, update: bool) -> None:
    """Chosen between rounds, it knows prompt and reply as if it had drafted from the start."""
    text, config = to_copy(model), COPY.with_(ngram_update=update)
    session = ChatSession(model, PLAIN)

    def switching() -> Iterator[Event]:
        for event in session.generate(user(text)):
            yield event
            if isinstance(event, Round) and event.index == 4:
                session.config = config

    turn, whole = record(switching()), reply(model, config, text=text)
    assert ids(turn) == ids(whole)
    known = {r.position: [n.token for n in r.nodes] for r in whole.rounds}
    later = [(r.position, [n.token for n in r.nodes]) for r in turn.rounds[5:] if r.position in known]
    assert len(later) >= 5
    assert later == [(position, known[position]) for position, _ in later]


def test_levels_are_shown_while_stepping(model: Model) -> None:
    """The tree grows level by level for who watches, and ends as the round's."""
    session = ChatSession(model, COPY)
    session.stepping = True
    sizes: list[int] = []
    grown = 0
    for event in session.generate(user(to_copy(model))):
        if isinstance(event, Phase) and event.name == "root":
            sizes = []
        if isinstance(event, Phase) and event.name == "level":
            assert event.level == len(sizes) + 1 == max(n.depth for n in event.nodes)
            sizes.append(len(event.nodes))
        if isinstance(event, Round) and sizes:
            assert sizes == sorted(set(sizes))
            assert sizes[-1] == len(event.nodes)
            grown += len(sizes) > 2
    assert grown >= 3


def test_a_file_is_drafted_from(model: Model, tmp_path: Path) -> None:
    """A reply that is written in the file costs few passes although the prompt says nothing of it."""
    plain = reply(model, PLAIN)
    file = tmp_path / "known.txt"
    file.write_text(plain.end.text, encoding="utf-8")
    turn = reply(model, PROMPT_ONLY.with_(lookup_file=str(file)))
    assert ids(turn) == ids(plain)
    assert len(turn.rounds) < 0.7 * len(reply(model, PROMPT_ONLY).rounds)


def test_a_missing_file_is_said_before_anything_runs(model: Model) -> None:
    """One sentence, and the session goes on; set in mid turn it ends that turn."""
    wrong = COPY.with_(lookup_file="nowhere.txt")
    session = ChatSession(model, wrong)
    with pytest.raises(ConfigError, match=r"lookup_file .*nowhere\.txt cannot be read"):
        next(iter(session.generate(user(ASK))))
    session.config = wrong.with_(speculative_type="")
    assert record(session.generate(user(ASK))).end.finish_reason == "length"
    events = session.generate(user(ASK))
    assert any(isinstance(event, Prefill) for event in events)
    session.config = wrong
    with pytest.raises(ConfigError, match=r"nowhere\.txt"):
        next(events)
    session.config = COPY
    assert drafts(record(session.generate(user(ASK)))) == drafts(reply(model, COPY))


def test_useless_drafts_are_no_mismatch(model: Model) -> None:
    """Text that does not repeat itself is no fault of the model; only a head can fail to match (row 22)."""
    text = "".join(map(chr, np.random.default_rng(0).permutation(range(33, 127))))
    turn = reply(model, PROMPT_ONLY.with_(max_new_tokens=200, ngram_match_maxlen=1), text=text)
    assert sum(bool(r.verified) for r in turn.rounds) >= 64
    assert turn.stats().tau <= 1.02
    assert turn.end.warning == ""
