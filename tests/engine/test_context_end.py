"""Row 27: the context runs full, while generating and before."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.config import EngineConfig, SamplingConfig
from engine.errors import ContextFull
from engine.session import ChatSession
from tests.engine.conftest import Loaded
from tests.tiny import DIMS, Tiny, TinySource
from tests.turns import COPY, GREEDY, MTP, PLAIN, TREE, WARM, ids, record, reply, user

CONTEXT = 96
SMALL = TinySource(dims=replace(DIMS, context_length=CONTEXT))
TREES = [(1, 1, 1), (1, 16, 16), (2, 4, 8), (4, 4, 12), (8, 5, 30), (16, 8, 64)]


@pytest.mark.parametrize("sampling", [GREEDY, WARM], ids=["greedy", "sampled"])
@pytest.mark.parametrize("exact", [True, False], ids=["exact", "loose"])
def test_every_strategy_fills_the_context_equally(tiny: Loaded, sampling: SamplingConfig, exact: bool) -> None:
    """A tree is clipped to what is left; the reply ends with the token, and for the reason, of plain decoding."""
    brittle = replace(SMALL, ties=0.01, brittle=True)
    model = tiny(Tiny(precision="int8", source=brittle, mtp="teacher") if exact else Tiny(source=SMALL, mtp="teacher"))
    plain = reply(model, PLAIN.with_(max_new_tokens=1000), sampling)
    assert plain.end.finish_reason == "context"
    assert plain.start.prompt_tokens + len(ids(plain)) == CONTEXT
    trees = [EngineConfig(eagle_topk=k, eagle_depth=d, draft_predict_length=n) for k, d, n in TREES]
    others = [MTP, MTP.with_(draft_predict_length=16), COPY, COPY.with_(eagle_topk=16, draft_predict_length=64)]
    for config in (*trees, *others):
        turn = reply(model, config.with_(max_new_tokens=1000, exact=exact), sampling)
        assert ids(turn) == ids(plain), config
        assert turn.end.finish_reason == "context"


def test_one_row_passes_use_the_context_as_well(tiny: Loaded) -> None:
    """Plain decoding as users run it, one row a pass, ends at the same length."""
    turn = reply(tiny(Tiny(source=SMALL)), PLAIN.with_(max_new_tokens=1000, plain_rows=1))
    assert turn.start.prompt_tokens + len(ids(turn)) == CONTEXT


def test_a_limit_that_just_fits_is_a_length(tiny: Loaded) -> None:
    """Asked for exactly what fits, the reply ends for its length; asked for one more, for the context."""
    model = tiny(Tiny(source=SMALL))
    room = CONTEXT - reply(model, PLAIN.with_(max_new_tokens=1)).start.prompt_tokens
    assert reply(model, TREE.with_(max_new_tokens=room)).end.finish_reason == "length"
    assert reply(model, TREE.with_(max_new_tokens=room + 1)).end.finish_reason == "context"


def test_a_message_too_long_is_refused_in_one_sentence(tiny: Loaded) -> None:
    """The error says how long it is and what fits, before anything runs, and the session goes on."""
    model = tiny(Tiny(source=SMALL))
    session = ChatSession(model, TREE)
    with pytest.raises(ContextFull, match=r"it takes \d+ tokens and \d+ fit\. Shorten it"):
        next(iter(session.generate(user("x y z " * 60))))
    assert ids(record(session.generate(user("hello there")))) == ids(reply(model, TREE))


def test_the_oldest_turns_leave_first(tiny: Loaded) -> None:
    """A long conversation keeps the system prompt and the newest turns, whole, and says how many messages left."""
    session = ChatSession(tiny(Tiny(source=SMALL)), TREE.with_(max_new_tokens=8))
    talk = [{"role": "system", "content": "be"}]
    dropped = []
    for number in range(6):
        talk.append({"role": "user", "content": f"q{number}"})
        turn = record(session.generate(talk))
        talk.append({"role": "assistant", "content": "ok"})
        prompt, left = turn.start.prompt_text, turn.start.dropped_messages
        dropped.append(left)
        assert left % 2 == 0
        assert prompt == session.model.tokenizer.render([talk[0], *talk[1 + left : -1]])
        assert turn.start.prompt_tokens + len(ids(turn)) <= CONTEXT
        fresh = record(ChatSession(session.model, session.config).generate([talk[0], *talk[1 + left : -1]]))
        assert ids(turn) == ids(fresh)
        session = ChatSession(session.model, session.config)
    assert dropped[0] == 0
    assert dropped == sorted(dropped)
    assert dropped[-1] >= 2


def test_a_very_long_conversation_is_not_tried_turn_by_turn(tiny: Loaded, monkeypatch: pytest.MonkeyPatch) -> None:
    """With hundreds of turns too many, trying each took seconds, in which nothing else of the program ran."""
    session = ChatSession(tiny(Tiny(source=SMALL)), TREE.with_(max_new_tokens=8))
    talk = [{"role": role, "content": f"{role} {n}"} for n in range(200) for role in ("user", "assistant")]
    talk.append({"role": "user", "content": "and now"})
    tokenizer, read = session.model.tokenizer, []
    encode = tokenizer.encode
    monkeypatch.setattr(tokenizer, "encode", lambda text: read.append(len(text)) or encode(text))
    turn = record(session.generate(talk))
    room = CONTEXT - 8
    assert turn.start.prompt_tokens <= room
    longer = talk[turn.start.dropped_messages - 2 :]
    assert len(encode(tokenizer.render(longer))) > room, "another turn would have fitted"
    assert len(read) <= 12


def test_beyond_the_positions_of_the_head(tiny: Loaded) -> None:
    """A context several times what the head was trained to: no crash, identical text, drafts still accepted."""
    model = tiny(Tiny(trained_positions=64))
    limit = PLAIN.with_(max_new_tokens=400)
    turn = reply(model, TREE.with_(max_new_tokens=400))
    assert ids(turn) == ids(reply(model, limit))
    late = [r for r in turn.rounds if r.position > 256]
    assert sum(len(r.emitted) for r in late) > 1.3 * len(late)
