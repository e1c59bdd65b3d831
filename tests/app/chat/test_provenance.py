import random
import time
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from app.chat.provenance import Provenance, placed
from engine.trace import Prefill, Source, Token, Turn, TurnEnd, TurnStart
from tests.fake_turn import PIECES, fake_turn

SPLIT = ("A ", "\ufffd", "\ufffd\ufffd", "\ufffd", "! ", "c", "\ufffd", "\ufffd", "x", "\ufffd\ufffd", "\ufffd", " end")
SPLIT_BYTES = (b"A ", b"\xf0", b"\x9f\x98", b"\x80", b"! ", b"c", b"\xc3", b"\xa9", b"x", b"\xe6\x97", b"\xa5", b" end")


def turn_of(pieces: list[str], text: str, sources: list[Source] | None = None, data: Sequence[bytes] = ()) -> Turn:
    """A finished turn whose rounds emitted these pieces, three a round, and showed this text; `data`: their bytes."""
    base = fake_turn(1, rounds=1).rounds[0]
    turn = Turn()
    turn.add(TurnStart("m", "eagle", "", 3, 0, 100))
    tokens = [Token(i, piece, (sources or ["draft"] * len(pieces))[i], 1, 0.5, 1.0) for i, piece in enumerate(pieces)]
    for i, raw in enumerate(data):
        tokens[i] = tokens[i]._replace(raw=raw.hex() if "\ufffd" in pieces[i] else "")
    turn.add(Prefill(3, 1.0, tokens[0]._replace(source="first", node=-1), ""))
    for n in range(1, len(tokens), 3):
        turn.add(replace(base, index=len(turn.rounds), emitted=tuple(tokens[n : n + 3]), text=""))
    turn.add(TurnEnd("length", text, tuple(range(len(tokens))), 1.0))
    return turn


def covered(found: Provenance) -> str:
    """The characters that tokens explain."""
    return "".join(found.text[s.start : s.end] for s in found.spans)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("finish", ["length", "stop_token"])
def test_sum_shown_equals_the_counters(seed: int, finish: str) -> None:
    """Every token is shown once, with its source; the sums are the ones of the records."""
    turn = fake_turn(seed, rounds=25, finish=finish)  # type: ignore[arg-type]
    found = Provenance.of(turn)
    stats, counts = turn.stats(), found.counts()
    assert covered(found) == turn.text
    assert counts["draft"] == stats.accepted
    assert counts["first"] == 1
    assert sum(counts.values()) == stats.emitted + 1 == len(turn.tokens)
    assert counts["bonus"] == sum(t.source == "bonus" for t in turn.tokens)
    for span in found.spans:
        (index,) = span.tokens
        assert turn.text[span.start : span.end] == turn.tokens[index].text


def test_every_token_knows_its_round_and_node() -> None:
    """Linking needs both; the first token is the root of round 0."""
    turn = fake_turn(4, rounds=8)
    found = placed(turn)
    assert found[0][1:] == (0, 0)
    for place in found[1:]:
        record = turn.rounds[place.round]
        assert place.token in record.emitted
        if place.token.source == "draft":
            assert record.nodes[place.node].token == place.token.id
        else:
            assert place.node == len(record.nodes)


def test_a_card_leads_to_its_word_and_back() -> None:
    """The bonus card lit up no word, and its word lit up the node before it."""
    turn = fake_turn(4, rounds=8)
    found = Provenance.of(turn)
    for index, place in enumerate(found.tokens[1:], 1):
        (span,) = found.of_node(place.round, place.node)
        assert span.tokens == (index,)
    assert found.of_node(3, 0) == found.of_node(2, len(turn.rounds[2].nodes))


def test_the_words_of_tokens_that_were_run_again() -> None:
    """An exact reply confirms a token a round later: its card is then a row that was run again, or the root."""
    turn = fake_turn(4, rounds=4)
    number = next(i for i, r in enumerate(turn.rounds) if i and len(r.emitted) >= 2)
    shown = turn.rounds[number]
    waited = tuple(t._replace(node=-1) for t in shown.emitted[:2])
    before = turn.rounds[number - 1].emitted[-1]
    turn.rounds[number] = replace(shown, replayed=(before, waited[0]), emitted=(*waited, *shown.emitted[2:]))
    found = Provenance.of(turn)
    own = len(shown.nodes)

    def words(node: int) -> list[str]:
        return [found.text[s.start : s.end] for s in found.of_node(number, node)]

    assert [words(node) for node in (own + 1, own + 2, 0)] == [[before.text], [waited[0].text], [waited[1].text]]


def test_half_characters_share_a_span() -> None:
    """Neighbours that make one character together are one stretch; what is whole stays apart."""
    text = b"".join(SPLIT_BYTES).decode()
    found = Provenance.of(turn_of(list(SPLIT), text))
    assert [(text[s.start : s.end], s.tokens) for s in found.spans] == [
        ("A ", (0,)),
        ("😀", (1, 2, 3)),
        ("! ", (4,)),
        ("c", (5,)),
        ("é", (6, 7)),
        ("x", (8,)),
        ("日", (9, 10)),
        (" end", (11,)),
    ]
    assert sum(found.counts().values()) == len(SPLIT)


def test_bytes_cut_a_run_at_characters() -> None:
    """Where the record has the tokens' bytes, a row of half characters is cut exactly."""
    data = [b"\xc3", b"\xa9\xc3", b"\xa9", b"\xe6\x97", b"\xa5"]
    pieces = [b.decode(errors="replace") for b in data]
    text = b"".join(data).decode()
    loose = Provenance.of(turn_of(pieces, text))
    assert [s.tokens for s in loose.spans] == [(0, 1, 2, 3, 4)]
    exact = Provenance.of(turn_of(pieces, text, data=data))
    assert [(text[s.start : s.end], s.tokens) for s in exact.spans] == [("éé", (0, 1, 2)), ("日", (3, 4))]


def test_characters_that_are_whole_appear_at_once() -> None:
    """In a script whose characters are all two tokens, the words of a running reply must not wait for its end."""
    text = "日本語日本語"
    data = [part for c in text for part in (c.encode()[:2], c.encode()[2:])]
    whole = turn_of([part.decode(errors="replace") for part in data], text, data=data)
    found = Provenance()
    growing = Turn(whole.start, whole.prefill)
    for r in whole.rounds[:3]:  # ten of twelve tokens: five characters
        growing.add(r)
    found.update(growing, text[:5])
    assert [(text[s.start : s.end], s.tokens) for s in found.spans] == [
        (c, (2 * i, 2 * i + 1)) for i, c in enumerate(text[:5])
    ]
    found.update(whole, text, final=True)
    assert found.spans == Provenance.of(whole).spans
    assert covered(found) == text


@settings(max_examples=150, deadline=None)
@given(st.text(st.sampled_from("ab é日😀\n\ufffd"), min_size=1, max_size=24), st.integers(0, 10**6), st.booleans())
@example("日日😀日", 267517, False)  # what follows the run is also within it
@example("日日😀日", 267517, True)
def test_any_text_cut_anywhere_is_covered_exactly_once(text: str, seed: int, known: bool) -> None:
    """Bytes cut at random places: all characters covered in order, all tokens counted, whole tokens exact."""
    rng, data = random.Random(seed), text.encode()
    cuts = sorted(rng.sample(range(1, len(data)), rng.randint(0, len(data) - 1))) if len(data) > 1 else []
    parts = [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)]
    pieces = [part.decode(errors="replace") for part in parts]
    found = Provenance.of(turn_of(pieces, text, data=parts if known else ()))
    assert covered(found) == text
    assert [t for s in found.spans for t in s.tokens] == list(range(len(pieces)))
    if known:
        for span in found.spans:
            assert b"".join(parts[t] for t in span.tokens) == text[span.start : span.end].encode()


@pytest.mark.parametrize("seed", range(10))
def test_growing_gives_the_same_as_the_whole(seed: int) -> None:
    """While a reply runs, its text may lag behind its tokens (stop strings are held back); the end is the same."""
    rng = random.Random(seed)
    pieces = [rng.choice([*PIECES[:20], *SPLIT]) for _ in range(40)]
    whole = fake_turn(seed, rounds=15)
    text = whole.text
    growing, found, lag = Turn(whole.start, whole.prefill), Provenance(), 0
    for record in whole.rounds:
        growing.add(record)
        lag = rng.randint(0, 9)
        found.update(growing, growing.text[: max(0, len(growing.text) - lag)])
        assert covered(found) == found.text[: len(covered(found))]
    found.update(whole, text, final=True)
    assert found.spans == Provenance.of(whole).spans
    assert pieces


def test_what_no_token_explains_stays_bare() -> None:
    """Specials are not shown, a stop string cuts the last token, an edited text has foreign words."""
    cut = Provenance.of(turn_of(["One", " two", " three"], "One two th"))
    assert [(s.start, s.end) for s in cut.spans] == [(0, 3), (3, 7), (7, 10)]
    special = Provenance.of(turn_of(["One", "<|x|>", " two"], "One two"))
    assert [(s.start, s.end) for s in special.spans] == [(0, 3), (3, 3), (3, 7)]
    foreign = Provenance.of(turn_of(["One", " two", " three"], "One and two three"), text="One and two three")
    assert [(s.start, s.end) for s in foreign.spans] == [(0, 3), (7, 11), (11, 17)]
    continued = Provenance.of(turn_of(["One", " two"], "One two"), text="Given: One two")
    assert [(s.start, s.end) for s in continued.spans] == [(7, 10), (10, 14)]
    assert sum(special.counts().values()) == 3


def test_finding_the_span_of_a_character() -> None:
    """Hovering asks by position; tokens without characters and gaps answer nothing."""
    found = Provenance.of(turn_of(["One", "<|x|>", " two", " three"], "One and two three"), text="One and two three")
    assert found.at(0) == found.at(2) == found.spans[0]
    assert found.at(4) is None
    assert found.at(8) == found.spans[2]
    assert found.at(16) == found.spans[3]
    assert found.at(17) is None
    assert found.between(0, 2) == found.spans[:1]


@pytest.mark.alone
def test_a_long_reply_is_quick() -> None:
    """Laying out runs in the window's thread."""
    turn = fake_turn(1, rounds=600)
    start = time.thread_time()
    found = Provenance.of(turn)
    assert time.thread_time() - start < 0.5
    assert covered(found) == turn.text
