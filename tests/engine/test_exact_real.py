"""The default model: the text of plain decoding, whatever the caches went through before."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from engine.config import EngineConfig, SamplingConfig
from engine.model import Model
from engine.models.setup import ensure_model
from engine.session import ChatSession, Message
from engine.trace import Event, PrefillProgress, Round, Turn
from tests.turns import COPY, GREEDY, PLAIN, TREE, WARM, ids, record, user

pytestmark = pytest.mark.model

LENGTH = 24
WIDE = TREE.with_(eagle_topk=4, eagle_depth=5, draft_predict_length=16, max_new_tokens=LENGTH)
BIG = WIDE.with_(eagle_topk=8, draft_predict_length=24)
COPYING = WIDE.with_(eagle_topk=2, eagle_depth=2, eagle_lookup=2)
LOOKAHEAD = COPY.with_(max_new_tokens=LENGTH)
ASKED = ("Write a short story about a fox and a crow.", "And how does it end?", "Put that into one sentence.")
PASSAGE = (Path(__file__).resolve().parents[2] / "assets" / "calibration.txt").read_text(encoding="utf-8")
SAMPLINGS = pytest.mark.parametrize("sampling", [GREEDY, WARM], ids=["greedy", "sampled"])


@pytest.fixture(scope="module")
def folder() -> Path:
    """As a user has it: fetched and converted once into the cache."""
    return ensure_model()


@pytest.fixture(scope="module")
def model(folder: Path) -> Iterator[Model]:
    """With one thread: tests may run beside these, and two threads that wait for each other take twice as long."""
    model = Model.load(folder, threads=1)
    yield model
    model.close()


def answer(session: ChatSession, config: EngineConfig, messages: Sequence[Message], sampling: SamplingConfig) -> Turn:
    """One whole turn under `config`."""
    session.config = config
    return record(session.generate(messages, sampling))


def plain(model: Model, messages: Sequence[Message], sampling: SamplingConfig, **changes: int) -> tuple[int, ...]:
    """The reference: a fresh session, two rows per pass."""
    config = PLAIN.with_(max_new_tokens=LENGTH).with_(**changes)
    return ids(answer(ChatSession(model), config, messages, sampling))


def said(turn: Turn) -> Message:
    """A reply as it goes back into the conversation."""
    assert turn.end is not None
    return {"role": "assistant", "content": turn.end.text}


@SAMPLINGS
def test_a_conversation_that_reuses_rows(model: Model, sampling: SamplingConfig) -> None:
    """Later turns start from rows that trees left in the cache; each equals plain decoding in a fresh session."""
    session, messages = ChatSession(model), list[Message]()
    asked, turns = [], []
    for question, config in zip(ASKED, (WIDE, BIG, COPYING), strict=True):
        messages += user(question)
        asked.append(list(messages))
        turns.append(answer(session, config, messages, sampling))
        messages.append(said(turns[-1]))
    assert all(turn.start.reused_tokens > LENGTH // 2 for turn in turns[1:])
    assert any(r.replayed for turn in turns for r in turn.rounds)
    assert [ids(turn) for turn in turns] == [plain(model, m, sampling) for m in asked]


def test_a_conversation_that_was_not_exact_before(model: Model) -> None:
    """Rows of one-row decoding and of loose trees are read again: the next exact turn is that of a fresh session."""
    session, messages, cache = ChatSession(model), list[Message](), model.target.cache
    turns = []
    one_row = PLAIN.with_(plain_rows=1, max_new_tokens=LENGTH)
    for question, config in zip(ASKED, (one_row, WIDE.with_(exact=False), WIDE), strict=True):
        messages += user(question)
        turns.append(answer(session, config, messages, GREEDY))
        messages.append(said(turns[-1]))
    rows = cache.data[:, :, : cache.length].copy()
    canonical = turns[0].start.prompt_tokens
    assert turns[1].start.reused_tokens > canonical + LENGTH // 2
    assert turns[2].start.reused_tokens == canonical
    assert ids(turns[2]) == plain(model, messages[:-1], GREEDY)
    assert np.array_equal(rows, cache.data[:, :, : cache.length])


@SAMPLINGS
def test_a_conversation_goes_on_after_a_cancelled_turn(model: Model, sampling: SamplingConfig) -> None:
    """Stopped in the prompt, and where provisional tokens wait; then the same again, then on from what was said."""
    session = ChatSession(model, WIDE.with_(prefill_chunk=16))
    first = stopped(session, user(ASKED[0]), sampling, lambda e: isinstance(e, PrefillProgress) and e.done >= 16)
    assert not ids(first)
    cut = stopped(session, user(ASKED[0]), sampling, lambda e: isinstance(e, Round) and bool(e.provisional))
    assert ids(cut)
    again = answer(session, WIDE, user(ASKED[0]), sampling)
    assert again.start.reused_tokens == again.start.prompt_tokens - 1
    cut = stopped(session, user(ASKED[0]), sampling, lambda e: isinstance(e, Round) and bool(e.provisional))
    later = [*user(ASKED[0]), said(cut), *user(ASKED[1])]
    turn = answer(session, BIG, later, sampling)
    assert turn.start.reused_tokens > again.start.prompt_tokens
    want = plain(model, user(ASKED[0]), sampling)
    assert ids(again) == want
    assert ids(cut) == want[: len(ids(cut))]
    assert ids(turn) == plain(model, later, sampling)


def stopped(
    session: ChatSession, messages: Sequence[Message], sampling: SamplingConfig, when: Callable[[Event], bool]
) -> Turn:
    """A turn that is stopped at the first event for which `when` holds."""
    turn = Turn()
    for event in session.generate(messages, sampling):
        turn.add(event)
        if turn.end is None and when(event):
            session.stop()
    assert turn.end is not None
    assert turn.end.finish_reason == "cancelled"
    return turn


def prompt_of(model: Model, length: int) -> list[Message]:
    """A question about a passage; the whole prompt has exactly `length` tokens."""
    tokenizer = model.tokenizer
    spare = length - len(tokenizer.encode_chat(user("Go on.\n\n")))
    passage = tokenizer.encode(PASSAGE * 4)[: spare - 8]
    for more in range(16):
        messages = user(f"Go on.\n\n{tokenizer.decode(passage)}{' and' * more}")
        if len(tokenizer.encode_chat(messages)) == length:
            return list(messages)
    raise AssertionError(f"no prompt of {length} tokens")


@pytest.mark.parametrize("length", [128, 129, 257])
def test_prompts_around_the_end_of_a_chunk(model: Model, length: int) -> None:
    """A prompt read in chunks of 128, the last of which may be one token, against the same read in one piece."""
    messages = prompt_of(model, length)
    found = [ids(turn) for turn in both(ChatSession(model), WIDE.with_(max_new_tokens=12), messages, length)]
    whole = PLAIN.with_(max_new_tokens=12, prefill_chunk=4096)
    assert found == [ids(turn) for turn in both(ChatSession(model), whole, messages, length)]


def both(session: ChatSession, config: EngineConfig, messages: Sequence[Message], length: int) -> list[Turn]:
    """Greedy, and sampled behind the same rows: the second time only the last token of the prompt is run."""
    turns = [answer(session, config, messages, sampling) for sampling in (GREEDY, WARM)]
    assert [(t.start.prompt_tokens, t.start.reused_tokens) for t in turns] == [(length, 0), (length, length - 1)]
    return turns


def test_a_context_of_3000_tokens(model: Model) -> None:
    """Far back in the text other sums are long; all settings read the same rows, which were read once."""
    length, tokens = 3000, 12
    messages, session = prompt_of(model, length), ChatSession(model)
    want = [ids(turn) for turn in both(session, PLAIN.with_(max_new_tokens=tokens), messages, length)]
    for config in (BIG, COPYING, LOOKAHEAD):
        turns = [answer(session, config.with_(max_new_tokens=tokens), messages, s) for s in (GREEDY, WARM)]
        assert [ids(turn) for turn in turns] == want
        assert all(turn.start.reused_tokens == length - 1 for turn in turns)


def test_two_threads_give_the_text_of_one(model: Model, folder: Path) -> None:
    """Work is shared out by columns of a matrix, never inside a sum, so the number of threads changes no bit."""
    want = [plain(model, user(ASKED[0]), sampling) for sampling in (GREEDY, WARM)]
    both_cores = Model.load(folder, threads=2)
    try:
        session = ChatSession(both_cores)
        found = [answer(session, WIDE, user(ASKED[0]), sampling) for sampling in (GREEDY, WARM)]
    finally:
        both_cores.close()
    assert [ids(turn) for turn in found] == want
