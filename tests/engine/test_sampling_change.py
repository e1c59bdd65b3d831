"""Sampling changed while a reply is written: it acts at the next round, and any tree still gives the same text."""

from __future__ import annotations

import numpy as np
import pytest

from engine.config import EngineConfig, SamplingConfig
from engine.model import Model
from engine.sampling import Sampler
from engine.session import ChatSession
from engine.trace import Round, Turn
from tests.engine.conftest import Loaded
from tests.tiny import Tiny
from tests.turns import ASK, COPY, GREEDY, MTP, PLAIN, TREE, WARM, check, ids, reply, user

HOT = SamplingConfig(temperature=1.5, top_k=0, top_p=1.0, seed=3)
PENALISED = SamplingConfig(repetition_penalty=1.4)
CHANGES = [(GREEDY, WARM), (WARM, GREEDY), (WARM, HOT), (GREEDY, PENALISED), (PENALISED, WARM), (PENALISED, GREEDY)]
DRAFTERS = [TREE, TREE.with_(eagle_topk=8, draft_predict_length=30), TREE.with_(eagle_topk=1), MTP, COPY]


def changed(model: Model, config: EngineConfig, first: SamplingConfig, then: SamplingConfig, after: int) -> Turn:
    """A reply whose sampling changes once `after` tokens are emitted."""
    session, turn = ChatSession(model, config), Turn()
    for event in session.generate(user(ASK), first):
        turn.add(event)
        if isinstance(event, Round) and len(turn.tokens) >= after:
            session.sampling = then
    check(turn)
    return turn


def first_with(turn: Turn, after: int) -> int:
    """Tokens emitted when the change acted: at the end of the round that brought the count to `after`."""
    count = 1
    for r in turn.rounds:
        if count >= after and r.index:
            break
        count += len(r.emitted)
    return count


@pytest.mark.parametrize("config", DRAFTERS, ids=lambda c: f"{c.speculative_type}-{c.eagle_topk}")
@pytest.mark.parametrize(("first", "then"), CHANGES)
def test_any_tree_gives_the_text_of_plain_decoding_with_the_same_change(
    tiny: Loaded, brittle: Model, config: EngineConfig, first: SamplingConfig, then: SamplingConfig
) -> None:
    """The change falls between two emitted tokens: before it the old way of drawing, after it the new, in any tree."""
    model = tiny(Tiny(precision="int8", mtp="teacher")) if config is MTP else brittle
    old = ids(reply(model, PLAIN, first))
    for after in (2, 9, 17, 30):
        turn = changed(model, config, first, then, after)
        count = first_with(turn, after)
        want = changed(model, PLAIN, first, then, count)
        assert ids(turn) == ids(want)
        assert ids(turn)[:count] == old[:count]
        assert [r.settings.temperature for r in want.rounds] == [
            first.temperature if i < count - 1 else then.temperature for i in range(len(want.rounds))
        ]
    assert ids(turn) not in (old, ids(reply(model, PLAIN, then)))


@pytest.mark.parametrize(("first", "then"), CHANGES)
def test_plain_decoding_draws_the_new_way_from_the_next_token(
    tiny: Loaded, first: SamplingConfig, then: SamplingConfig
) -> None:
    """The reference itself, written out: a full pass over prompt and reply for every token."""
    model = tiny(Tiny())
    turn = changed(model, PLAIN.with_(max_new_tokens=30), first, then, 12)
    tokens = model.tokenizer.encode_chat(user(ASK))
    prompt = len(tokens)
    while len(tokens) < prompt + 30:
        model.reset()
        logits = model.target.forward(tokens, np.arange(len(tokens)), last_only=True).logits[0]
        sampling = first if len(tokens) < prompt + 12 else then
        tokens.append(Sampler(sampling).draw(logits, len(tokens), tokens))
    assert list(ids(turn)) == tokens[prompt:]


def test_what_was_provisional_is_judged_again(tiny: Loaded) -> None:
    """Tokens that waited for confirmation were drawn the old way: none of them may slip through unjudged."""
    model = tiny(Tiny(precision="int8"))
    corrected = 0
    for after in range(2, 50):
        turn = changed(model, TREE, GREEDY, HOT, after)
        acting = next(r for r in turn.rounds if r.settings.temperature == HOT.temperature)
        if acting.replayed:
            corrected += any(t.source == "correction" for t in acting.emitted)
    assert corrected >= 3


def test_every_record_says_what_its_round_used(brittle: Model) -> None:
    """The slider moves while the reply runs; the round that is looked at shows its own value."""
    session, turn, temperatures = ChatSession(brittle, TREE), Turn(), [0.0]
    for event in session.generate(user(ASK), GREEDY):
        turn.add(event)
        if isinstance(event, Round):
            temperatures.append(round(0.1 * (event.index % 5), 1))
            session.sampling = GREEDY.with_(temperature=temperatures[-1])
    assert [r.settings.temperature for r in turn.rounds] == temperatures[: len(turn.rounds)]


def test_the_next_reply_begins_with_its_own_sampling(brittle: Model) -> None:
    """A change belongs to the turn it was made in."""
    session = ChatSession(brittle, TREE)
    for event in session.generate(user(ASK), GREEDY):
        if isinstance(event, Round):
            session.sampling = HOT
    *_, end = session.generate(user(ASK), GREEDY)
    assert end.token_ids == ids(reply(brittle, PLAIN, GREEDY))


def test_stop_strings_change_too(brittle: Model) -> None:
    """A new stop string ends the reply where it comes next."""
    whole = reply(brittle, TREE)
    text = whole.end.text
    stop = next(text[i : i + 3] for i in range(60, len(text)) if text.find(text[i : i + 3]) == i)
    stopped = changed(brittle, TREE, GREEDY, GREEDY.with_(stop=(stop,)), 2)
    assert stopped.end.finish_reason == "stop_string"
    assert stopped.end.text == text[: text.index(stop)]


@pytest.mark.parametrize("limit", [10, 35, 90])
def test_the_longest_reply_changes_too(brittle: Model, limit: int) -> None:
    """More, fewer, or fewer than there are already: then the next token is the last."""
    whole = ids(reply(brittle, PLAIN.with_(max_new_tokens=90)))
    session, turn, seen = ChatSession(brittle, TREE), Turn(), 0
    for event in session.generate(user(ASK)):
        turn.add(event)
        if isinstance(event, Round) and len(turn.tokens) >= 20 and not seen:
            seen = len(turn.tokens)
            session.config = TREE.with_(max_new_tokens=limit)
    check(turn)
    assert turn.end.finish_reason == "length"
    assert ids(turn) == whole[: max(limit, seen + 1)]
