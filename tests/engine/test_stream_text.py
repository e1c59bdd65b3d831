"""Streaming text: whole characters, exact stop strings, and independence of how the text is cut into tokens."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.stream_text import StreamText

TEXTS = st.text(
    st.one_of(st.characters(exclude_categories=["Cs"]), st.sampled_from("aé漢👩‍🚀🇫🇷\ufffd\n ")), max_size=30
)
SMALL = st.text("ab漢", min_size=1, max_size=5)


class Tokens:
    """A vocabulary made on the way: token i is the i-th chunk."""

    def __init__(self, chunks: Sequence[bytes], stop: Sequence[str] = ()) -> None:
        self.chunks = list(chunks)
        self.stream = StreamText(self.chunks.__getitem__, stop)

    def run(self) -> list[str]:
        """Every push until the stop, and the flush."""
        parts = []
        for i in range(len(self.chunks)):
            parts.append(self.stream.push(i))
            if self.stream.stopped:
                break
        return [*parts, self.stream.flush()]


def chunked(data: bytes, seed: int) -> list[bytes]:
    """`data` cut at random bytes, empty chunks included."""
    rng = random.Random(seed)
    cuts = sorted(rng.randint(0, len(data)) for _ in range(rng.randint(0, len(data))))
    return [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)]


def slow(text: str, stop: Sequence[str]) -> tuple[str, bool]:
    """Text before the stop string that is complete first, found by trying every prefix."""
    for end in range(1, len(text) + 1):
        starts = [end - len(s) for s in stop if text[:end].endswith(s)]
        if starts:
            return text[: min(starts)], True
    return text, False


@given(TEXTS)
@settings(max_examples=200, deadline=None)
def test_every_byte_its_own_token(text: str) -> None:
    """Cut at every byte, the shown parts add up to the text, and each part is whole characters."""
    tokens = Tokens([bytes([b]) for b in text.encode()])
    parts = tokens.run()
    assert "".join(parts) == text == tokens.stream.text
    assert parts[-1] == ""


@given(TEXTS, st.integers(0, 2**32))
@settings(max_examples=200, deadline=None)
def test_any_cut_gives_the_same_text(text: str, seed: int) -> None:
    """Tokens that hold several characters and halves of others."""
    assert "".join(Tokens(chunked(text.encode(), seed)).run()) == text


@given(st.binary(max_size=40), st.integers(0, 2**32))
@settings(max_examples=300, deadline=None)
def test_broken_utf8_is_replaced_as_in_one_piece(data: bytes, seed: int) -> None:
    """Bytes that are no UTF-8 give the same U+FFFD however they are cut, and what was shown never changes."""
    tokens = Tokens(chunked(data, seed))
    whole, so_far = data.decode(errors="replace"), ""
    for part in tokens.run():
        so_far += part
        assert whole.startswith(so_far)
    assert so_far == whole


@given(st.text("ab漢", max_size=14), st.lists(SMALL, max_size=4), st.integers(0, 2**32))
@settings(max_examples=600, deadline=None)
def test_stop_strings_at_any_offset(text: str, stop: list[str], seed: int) -> None:
    """Overlapping stop strings over a tiny alphabet: the text before the first complete one, for every cut."""
    tokens = Tokens(chunked(text.encode(), seed), stop)
    shown = "".join(tokens.run())
    assert (shown, tokens.stream.stopped) == slow(text, stop)
    assert tokens.stream.text == shown


@given(st.text("ab漢", max_size=14), st.lists(SMALL, min_size=1, max_size=4))
@settings(max_examples=300, deadline=None)
def test_hold_back_is_minimal(text: str, stop: list[str]) -> None:
    """After each character only the longest end that is a beginning of some stop string is held."""
    stream = StreamText(lambda token: text[token].encode(), stop)
    for i in range(len(text)):
        stream.push(i)
        if stream.stopped:
            return
        seen = text[: i + 1]
        held = max((n for s in stop for n in range(len(s)) if seen.endswith(s[:n])), default=0)
        assert stream.text == seen[: len(seen) - held]


def test_half_a_character_is_held_and_flushed_as_a_replacement() -> None:
    """An emoji cut by the end of the turn: nothing before, one U+FFFD at the end."""
    tokens = Tokens([b"ok ", "👍".encode()[:3]])
    assert tokens.run() == ["ok ", "", "\ufffd"]
    assert tokens.stream.text == "ok \ufffd"


def test_stop_straddles_tokens() -> None:
    """The beginning of a stop string is held while it may become one, and shown when it does not."""
    tokens = Tokens([b"one\n", b"\nU", b"ser", b"s\n\nUse", b"r: two"], ["\n\nUser:"])
    assert tokens.run() == ["one", "", "", "\n\nUsers", "", ""]
    assert tokens.stream.stopped
    assert tokens.stream.text == "one\n\nUsers"


def test_first_complete_stop_wins() -> None:
    """Of nested stop strings the one complete first ends the text; at the same character, the one begun first."""
    inner = Tokens([b"xabcd"], ["abcd", "bc"])
    assert inner.run()[0] == "xa"
    tail = Tokens([b"xabc"], ["bc", "abc"])
    assert tail.run()[0] == "x"


def test_text_after_the_stop_in_the_same_token_is_dropped() -> None:
    """A token that holds the stop string and more shows only what stands before."""
    tokens = Tokens([b"yes<end>no", b"never"], ["<end>"])
    assert tokens.run() == ["yes", ""]


def test_flush_shows_an_unfinished_stop_string_once() -> None:
    """The turn ended while a stop string could still have come: it is text after all."""
    tokens = Tokens([b"a<en"], ["<end>"])
    assert tokens.run() == ["a", "<en"]
    assert tokens.stream.flush() == ""
    assert not tokens.stream.stopped


def test_push_after_stop_raises() -> None:
    """Emitting after the stop is a fault of the caller and must not pass silently."""
    tokens = Tokens([b"ab", b"c"], ["b"])
    tokens.stream.push(0)
    with pytest.raises(RuntimeError, match="nothing may follow"):
        tokens.stream.push(1)


def test_special_tokens_have_no_text() -> None:
    """A token without bytes shows nothing and does not disturb a character cut around it."""
    tokens = Tokens(["漢".encode()[:1], b"", "漢".encode()[1:]])
    assert tokens.run() == ["", "", "漢", ""]


def test_empty_stop_string_is_refused() -> None:
    """It would match everywhere."""
    with pytest.raises(ValueError, match="empty"):
        StreamText(lambda _: b"", ["x", ""])
