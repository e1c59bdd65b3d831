"""Rows 3 to 9: where a reply ends, when the end falls anywhere inside a span of accepted tokens."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from engine.config import SamplingConfig
from engine.model import Model
from engine.trace import Turn
from tests.engine.conftest import Loaded
from tests.tiny import Tiny
from tests.turns import COPY, MTP, PLAIN, TREE, WARM, ids, reply

LOOSE = TREE.with_(exact=False)
DRAFTERS = {"exact": TREE, "loose": LOOSE, "mtp": MTP, "lookahead": COPY}


@pytest.fixture
def model(tiny: Loaded) -> Iterator[Model]:
    """A float32 model, whose stop tokens a test may change, and beside it a file that lookahead can copy from."""
    model = tiny(Tiny(mtp="teacher"))
    stop_ids, file = model.tokenizer.stop_ids, model.folder / "lookup_file.txt"
    file.write_text(reply(model, PLAIN).end.text, encoding="utf-8")
    yield model
    file.unlink()
    model.tokenizer.stop_ids = stop_ids


def spans(turn: Turn) -> set[int]:
    """Indices of reply tokens behind which the same round decided more."""
    ends, at = set(), 1
    for r in turn.rounds:
        ends |= set(range(at, at + len(r.emitted) - 1))
        at += len(r.emitted)
    return ends


@pytest.mark.parametrize("config", DRAFTERS.values(), ids=DRAFTERS)
def test_a_stop_token_anywhere_in_a_span_ends_everything(model: Model, config: type) -> None:
    """Rows 3, 7: nothing behind it reaches text, tokens, records or cache, wherever in a span it stands."""
    whole = reply(model, PLAIN)
    inside = spans(reply(model, config))
    tried = 0
    for at, token in enumerate(ids(whole)):
        if token in ids(whole)[:at]:
            continue
        model.tokenizer.stop_ids = frozenset({token})
        turn = reply(model, config)
        assert turn.end.finish_reason == "stop_token"
        assert ids(turn) == ids(whole)[:at]
        assert turn.end.text == model.tokenizer.decode(ids(whole)[:at])
        assert model.target.cache.length == turn.start.prompt_tokens + at
        tried += at in inside
    assert tried >= 5


def test_a_drafted_stop_token_ends_nothing(model: Model) -> None:
    """Row 4: a stop token that was drafted, verified and rejected is one node among others."""
    whole = reply(model, TREE)
    rejected = {n.token for r in whole.rounds for n in r.nodes if n.kept and not n.accepted} - set(ids(whole))
    assert len(rejected) >= 5
    model.tokenizer.stop_ids = frozenset(rejected)
    turn = reply(model, TREE)
    assert ids(turn) == ids(whole)
    assert turn.end.finish_reason == "length"


def test_the_earlier_of_stop_and_limit_names_the_end(model: Model) -> None:
    """Row 5: where both fall into one span, the position decides, as in plain decoding."""
    whole = reply(model, PLAIN)
    at = next(i for i in sorted(spans(reply(model, TREE))) if i > 3 and ids(whole)[i] not in ids(whole)[:i])
    model.tokenizer.stop_ids = frozenset({ids(whole)[at]})
    for limit in range(at - 2, at + 4):
        ends = []
        for config in (PLAIN, *DRAFTERS.values()):
            turn = reply(model, config.with_(max_new_tokens=limit))
            ends.append((turn.end.finish_reason, ids(turn)))
        assert ends == [("length" if limit <= at else "stop_token", ids(whole)[: min(limit, at)])] * 5


@pytest.mark.parametrize("sampling", [SamplingConfig(), WARM], ids=["greedy", "sampled"])
def test_the_limit_is_met_exactly(model: Model, sampling: SamplingConfig) -> None:
    """Rows 8, 9: as many tokens as asked for, for every number around a span; trimmed ones count nowhere."""
    whole = ids(reply(model, PLAIN, sampling))
    for limit in range(1, 24):
        for config in (PLAIN, *DRAFTERS.values(), TREE.with_(eagle_depth=16, draft_predict_length=64)):
            turn = reply(model, config.with_(max_new_tokens=limit), sampling)
            assert turn.end.finish_reason == "length"
            assert ids(turn) == whole[:limit]
            assert model.target.cache.length == turn.start.prompt_tokens + limit - 1
            stats = turn.stats()
            assert stats.emitted == limit - 1
            assert stats.accepted == sum(t.source == "draft" for t in turn.tokens)


def test_no_draft_is_deeper_than_what_is_left(model: Model) -> None:
    """Levels that could not be emitted would cost passes for nothing; waiting tokens count as good as emitted."""
    for limit in (5, 12, 30):
        turn, left = reply(model, TREE.with_(max_new_tokens=limit, eagle_depth=8)), limit - 1
        for r in turn.rounds:
            assert max(n.depth for n in r.nodes) <= max(0, left - len(r.replayed) - 1)
            left -= len(r.emitted)
        assert left == 0


@pytest.mark.parametrize("length", [1, 2, 5])
def test_a_stop_string_at_any_offset(model: Model, length: int) -> None:
    """Row 6: inside a span, across spans, inside a token, inside a character: the text of plain decoding."""
    whole = reply(model, PLAIN.with_(max_new_tokens=40))
    text = whole.end.text
    straddling = 0
    for at in range(len(text) - length + 1):
        stop = text[at : at + length]
        sampling = SamplingConfig(stop=(stop, "never there"))
        turns = [reply(model, config.with_(max_new_tokens=40), sampling) for config in (PLAIN, TREE)]
        for turn in turns:
            assert turn.end.text == text[: text.index(stop)]
            assert turn.end.finish_reason == "stop_string"
            assert ids(turn) == ids(whole)[: len(ids(turn))]
            assert stop in model.tokenizer.decode(ids(turn))
            assert stop not in model.tokenizer.decode(ids(turn)[:-1])
            assert model.target.cache.length == turn.start.prompt_tokens + len(ids(turn)) - 1
        straddling += bool(turns[1].rounds) and len(turns[1].rounds[-1].emitted) > 1
    assert straddling >= 5


def test_a_stop_string_that_never_completes_is_shown(model: Model) -> None:
    """Row 6: text held back because it might begin a stop string comes out at the end."""
    whole = reply(model, PLAIN)
    stop = whole.end.text[-3:] + "never there"
    turn = reply(model, TREE, SamplingConfig(stop=(stop,)))
    assert turn.end.text == whole.end.text
    assert turn.text == whole.end.text


def test_text_grows_by_whole_characters(model: Model) -> None:
    """Row 35: what a round shows is never changed later, although characters are cut between tokens and rounds."""
    for text in ("hello there", "foo bar", "an apple"):
        turn = reply(model, TREE.with_(max_new_tokens=150), text=text)
        parts = [turn.prefill.text, *(r.text for r in turn.rounds)]
        assert "".join(parts) == turn.end.text == model.tokenizer.decode(ids(turn))
        pieces = [model.tokenizer.piece(t) for t in ids(turn)]
        assert any(p == "\N{REPLACEMENT CHARACTER}" for p in pieces)  # there were half characters
        assert sum(p.count("\N{REPLACEMENT CHARACTER}") for p in parts) < len(parts)
