"""Turn after turn over one model: what is reused and what is not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from engine.config import SamplingConfig
from engine.draft_head import DraftHead
from engine.model import Model
from engine.session import ChatSession
from engine.trace import Turn
from tests.engine.conftest import Loaded
from tests.tiny import Tiny
from tests.turns import ASK, GREEDY, PLAIN, TREE, WARM, ids, record, reply, user

TEXTS = (ASK, "foo bar", "an apple", "the quick brown fox")


def rows(model: Model) -> list[np.ndarray]:
    """Committed rows of target and draft caches."""
    assert model.draft is not None
    return [c.data[:, :, : c.length].copy() for c in (model.target.cache, model.draft.cache)]


def talk(session: ChatSession, count: int) -> list[Turn]:
    """A conversation of `count` turns in which the model's own words go back into the prompt."""
    messages: list[dict[str, str]] = []
    turns = []
    for number in range(count):
        messages.append({"role": "user", "content": f"{ASK} {number}"})
        turns.append(record(session.generate(messages)))
        messages.append({"role": "assistant", "content": turns[-1].end.text})
    return turns


def test_a_turn_reads_only_what_is_new(brittle: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    """Row 29: rows of earlier turns are reused in target and draft; only new prompt tokens run, counted in both."""
    run: list[tuple[int, int]] = []
    forward = DraftHead.forward

    def spy(self: DraftHead, *args: Any, **kwargs: Any) -> Any:
        if kwargs.get("last_only"):
            run.append((self.cache.length, len(args[0])))
        return forward(self, *args, **kwargs)

    monkeypatch.setattr(DraftHead, "forward", spy)
    turns = talk(ChatSession(brittle, TREE.with_(max_new_tokens=12)), 3)
    for before, turn in zip([None, *turns], turns, strict=False):
        start, prefill = turn.start, turn.prefill
        assert prefill.tokens == start.prompt_tokens - start.reused_tokens
        if before is not None:
            assert start.reused_tokens >= before.start.prompt_tokens - 1
    reused = [t.start.reused_tokens for t in turns]
    firsts = [next(at for at in run if at[0] == r) for r in reused]  # the draft's first pass of each turn
    assert [at for at, _ in firsts] == reused
    assert sum(count for _, count in run) < turns[-1].start.prompt_tokens + 3 * 12 + 20


def test_all_of_a_reply_is_reused(tiny: Loaded) -> None:
    """Row 29: when the reply comes back as the same tokens, every row of the turn before is still used."""
    model = tiny(Tiny())
    tried = 0
    for length in range(2, 40):
        session = ChatSession(model, TREE.with_(max_new_tokens=length))
        first = record(session.generate(user(ASK)))
        held = model.target.cache.length
        text = [*model.tokenizer.encode_chat(user(ASK)), *ids(first)]
        again = [*user(ASK), {"role": "assistant", "content": first.end.text}, {"role": "user", "content": "more"}]
        if model.tokenizer.encode_chat(again)[: len(text)] == text:  # the reply is written as the same tokens
            tried += 1
            assert record(session.generate(again)).start.reused_tokens == held
    assert tried >= 3


def test_turn_two_equals_a_fresh_session(brittle: Model) -> None:
    """Rows 7, 15, 28: after reuse, text and all cached rows, keys and values, are those of a fresh prefill."""
    session = ChatSession(brittle, TREE)
    turns = talk(session, 3)
    found = rows(brittle)
    messages: list[dict[str, str]] = []
    for number, turn in enumerate(turns):
        messages += [{"role": "user", "content": f"{ASK} {number}"}, {"role": "assistant", "content": turn.end.text}]
    fresh = record(ChatSession(brittle, TREE).generate(messages[:-1]))
    assert ids(fresh) == ids(turns[-1])
    assert all(np.array_equal(a, b) for a, b in zip(found, rows(brittle), strict=True))


@pytest.mark.parametrize("chunk", [16, 17, 37, 64])
def test_chunked_prefill_equals_one_chunk(brittle: Model, chunk: int) -> None:
    """Row 28: a prompt read in pieces leaves the same rows, and gives the same text, as one read at once."""
    text = "the quick brown fox and then the other one in an apple " * 3
    whole = record(ChatSession(brittle, TREE.with_(prefill_chunk=4096)).generate(user(text)))
    want = rows(brittle)
    assert whole.start.prompt_tokens > 2 * chunk
    pieces = record(ChatSession(brittle, TREE.with_(prefill_chunk=chunk)).generate(user(text)))
    assert ids(pieces) == ids(whole)
    assert all(np.array_equal(a, b) for a, b in zip(want, rows(brittle), strict=True))


def test_a_last_chunk_of_one_token(brittle: Model) -> None:
    """A pass of one row would compute other bits: the only row of a chunk is padded, and its logits are its own."""
    length = len(brittle.tokenizer.encode_chat(user(ASK)))
    for extra in range(64):
        text = ASK + " apple" * extra
        length = len(brittle.tokenizer.encode_chat(user(text)))
        if length % 16 == 1 and length > 32:
            break
    assert length % 16 == 1
    want = ids(reply(brittle, PLAIN.with_(prefill_chunk=4096), text=text))
    assert ids(reply(brittle, PLAIN.with_(prefill_chunk=16), text=text)) == want


@pytest.mark.parametrize("sampling", [GREEDY, WARM], ids=["greedy", "sampled"])
def test_a_prefix_is_continued(brittle: Model, sampling: SamplingConfig) -> None:
    """A reply begun by hand goes on as if the model had written it; the prefix is no part of the reply."""
    tried = 0
    for text in TEXTS:
        whole = ids(reply(brittle, TREE, sampling, text))
        prompt = brittle.tokenizer.encode_chat(user(text))
        for cut in range(1, 40, 3):
            prefix = brittle.tokenizer.decode(whole[:cut])
            if brittle.tokenizer.encode(brittle.tokenizer.render(user(text)) + prefix) != [*prompt, *whole[:cut]]:
                continue  # written as other tokens
            tried += 1
            session = ChatSession(brittle, TREE.with_(max_new_tokens=60 - cut))
            turn = record(session.generate(user(text), sampling, prefix=prefix))
            assert ids(turn) == whole[cut:]
            assert turn.start.prompt_tokens == len(prompt) + cut
            assert turn.start.prompt_text.endswith(prefix)
    assert tried >= 3


def test_count_tokens_is_the_length_of_the_prompt(brittle: Model) -> None:
    """What the context meter shows before sending is what the turn then uses."""
    session = ChatSession(brittle, TREE)
    assert session.count_tokens(user(ASK)) == record(session.generate(user(ASK))).start.prompt_tokens


def test_two_sessions_over_one_model(brittle: Model) -> None:
    """Caches belong to the model; a session must never take rows of another one for its own."""
    want = [ids(reply(brittle, PLAIN, text=text)) for text in (ASK, "foo bar")]
    first, second = ChatSession(brittle, TREE), ChatSession(brittle, TREE)
    for _ in range(2):
        assert ids(record(first.generate(user(ASK)))) == want[0]
        assert ids(record(second.generate(user("foo bar")))) == want[1]
    assert record(second.generate(user("foo bar"))).start.reused_tokens > 0
    brittle.reset()  # as measuring does
    assert ids(record(second.generate(user("foo bar")))) == want[1]
