"""Traces as JSON: exact both ways, strict, and one clear error for every kind of damage."""

from __future__ import annotations

import gzip
import json
import math
import random
import threading
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine import trace_json
from engine.errors import Cancelled, TraceError
from engine.trace import Settings, Token, Turn
from engine.trace_json import load_trace, save_trace, trace_from_json, trace_to_json
from tests.fake_turn import fake_turn

LATER_SETTINGS = [f.name for f in fields(Settings) if f.default is None]  # not in traces older than the field


def odd_values(turn: Turn, rng: random.Random) -> Turn:
    """The same turn with what is rare: infinities, replayed and provisional tokens, strange texts, parts missing."""
    odd = random.Random(rng.random()).choice(["", "👩‍🚀", "\ud800", "\x00\n\t", '"\\', "漢\u2028"])
    for i, r in enumerate(turn.rounds):
        untold = dict.fromkeys(rng.sample(LATER_SETTINGS, rng.randrange(3)))
        last = r.nodes[-1]._replace(logprob=-math.inf, cum_logprob=-math.inf, text=odd)
        token = Token(7, odd, "draft", -1, math.nan, math.inf)
        half = Token(8, "\ufffd", "draft", -1, 0.5, 1.0, "f09f98")
        turn.rounds[i] = replace(
            r,
            nodes=(*r.nodes[:-1], last) if len(r.nodes) > 1 else r.nodes,
            replayed=(token,) * rng.randrange(3),
            provisional=(token, half) * rng.randrange(3),
            settings=replace(r.settings, **untold),
            kv=replace(r.kv, appended=r.kv.appended + 2 + rng.randrange(2)),
        )
    if rng.random() < 0.3:
        turn.end = None
    if rng.random() < 0.1:
        turn.start = None
    return turn


@st.composite
def turns(draw: Any) -> Turn:
    """Random consistent turns of every kind."""
    topk, depth = draw(st.integers(1, 4)), draw(st.integers(1, 5))
    turn = fake_turn(
        draw(st.integers(0, 2**32)),
        rounds=draw(st.integers(0, 5)),
        topk=topk,
        depth=depth,
        length=draw(st.integers(1, 30)),
        accept=draw(st.floats(0, 1)),
        strategy=draw(st.sampled_from(["eagle", "plain"])),
        finish=draw(st.sampled_from(["length", "stop_token", "cancelled"])),
    )
    return odd_values(turn, random.Random(draw(st.integers(0, 999)))) if draw(st.booleans()) else turn


@given(turns())
@settings(max_examples=120, deadline=None)
def test_round_trip(turn: Turn) -> None:
    """Reading gives back every record, NaN and infinities included, and writing again gives the same text."""
    text = trace_to_json(turn)
    again = trace_from_json(text)
    assert repr(again) == repr(turn)
    assert trace_to_json(again) == text


def test_json_is_strict_and_says_what_it_is() -> None:
    """No NaN or Infinity literals: other languages' parsers read it; format and version come first."""
    text = trace_to_json(odd_values(fake_turn(1), random.Random(0)))
    document = json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert text.startswith('{"format":"eyrie-trace","version":1,')
    assert document["rounds"][0]["nodes"]["logprob"][-1] == "-inf"
    assert None in document["rounds"][0]["nodes"]["target_prob"]
    assert text.isascii()


def test_size_is_reasonable() -> None:
    """A round of 68 candidates takes a few kilobytes, not a hundred."""
    turn = fake_turn(1, rounds=50)
    assert len(trace_to_json(turn)) < 50 * 7000


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("[1, NaN]", "NaN is not allowed"),
        ("1" * 5000, "not JSON"),
        ("[" * 200_000, "nested without end"),
        ('{"a":' * 100_000, "nested without end"),
        ("[]", "not an Eyrie trace"),
        ('"eyrie-trace"', "not an Eyrie trace"),
        ("\ufeff{}", "not JSON"),
    ],
)
def test_what_is_no_trace(text: str, message: str) -> None:
    """Other files, cut files and bombs of nesting."""
    with pytest.raises(TraceError, match=message):
        trace_from_json(text)


SAMPLE = trace_to_json(fake_turn(0, rounds=2, topk=2, depth=3, length=4, accept=0.8))


def test_more_at_the_end_than_in_the_rounds_is_fine() -> None:
    """Text held back by a possible stop string comes with the end only; a stop token may be the very first token."""
    turn = fake_turn(2)
    assert turn.end is not None
    turn.end = replace(turn.end, text=turn.end.text + " tail", token_ids=(*turn.end.token_ids, 5))
    assert trace_from_json(trace_to_json(turn)).end == turn.end
    empty = fake_turn(2, rounds=0)
    assert empty.prefill is not None
    assert empty.end is not None
    empty.prefill = replace(empty.prefill, text="")
    empty.end = replace(empty.end, token_ids=(), text="")
    assert trace_from_json(trace_to_json(empty)).end == empty.end


@pytest.mark.parametrize(
    ("name", "saved"), [("a", "a.json"), ("b.json", "b.json"), ("c.json.gz", "c.json.gz"), ("d.txt", "d.txt")]
)
def test_save_and_load(tmp_path: Path, name: str, saved: str) -> None:
    """Suffix only where there is none, compression by suffix, nothing else left in the folder."""
    turn = fake_turn(3)
    path = save_trace(tmp_path / name, turn)
    assert path == tmp_path / saved
    assert [p.name for p in tmp_path.iterdir()] == [saved]
    assert (path.read_bytes()[:2] == b"\x1f\x8b") == saved.endswith(".gz")
    assert repr(load_trace(path)) == repr(turn)


def test_loading_looks_at_the_bytes_not_the_name(tmp_path: Path) -> None:
    """A compressed trace renamed to .json, and one with a byte order mark, open all the same."""
    text = SAMPLE
    (tmp_path / "a.json").write_bytes(gzip.compress(text.encode()))
    (tmp_path / "b.json").write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert repr(load_trace(tmp_path / "a.json")) == repr(load_trace(tmp_path / "b.json"))


def test_failed_save_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk half way: the trace that was there stays, and no part remains."""
    path = save_trace(tmp_path / "a", fake_turn(1))
    before = path.read_bytes()

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(trace_json.os, "fsync", full)
    with pytest.raises(TraceError, match=r"could not be saved as .*a\.json: No space left"):
        save_trace(path, fake_turn(2))
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]


def test_impossible_places(tmp_path: Path) -> None:
    """Missing folders, folders instead of files, empty names: a sentence with the reason."""
    turn = fake_turn(1, rounds=1)
    with pytest.raises(TraceError, match="could not be saved"):
        save_trace(tmp_path / "none" / "a.json", turn)
    with pytest.raises(TraceError, match="could not be saved"):
        save_trace("", turn)
    with pytest.raises(TraceError, match="could not be read"):
        load_trace(tmp_path)
    with pytest.raises(TraceError, match=r"none\.json could not be read: No such file"):
        load_trace(tmp_path / "none.json")


def test_broken_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut or flipped compression, bytes that are no text, and a small file that unpacks without end."""
    whole = gzip.compress(SAMPLE.encode())
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 0xFF
    monkeypatch.setattr(trace_json, "MAX_BYTES", 2**20)
    cases = {
        "compressed data is damaged": [whole[:-20], bytes(flipped), whole[:3], whole + b"rest"],
        "not text": [b"\xff\xfe\x00", gzip.compress(b"\xff")],
        "larger than 1 MiB": [gzip.compress(b" " * 2**24), b" " * (2**20 + 1)],
        "not JSON": [b"", b"\x00"],
    }
    for message, files in cases.items():
        for data in files:
            (tmp_path / "bad.json.gz").write_bytes(data)
            with pytest.raises(TraceError, match=rf"bad\.json\.gz: .*{message}"):
                load_trace(tmp_path / "bad.json.gz")


def test_a_trace_too_long_to_open_is_not_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit holds both ways."""
    monkeypatch.setattr(trace_json, "MAX_BYTES", 1000)
    with pytest.raises(TraceError, match="larger than"):
        save_trace(tmp_path / "a", fake_turn(1))
    assert not list(tmp_path.iterdir())


def test_too_many_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """A list of millions of rounds is refused before any is read."""
    monkeypatch.setattr(trace_json, "MAX_ROUNDS", 2)
    with pytest.raises(TraceError, match="at most 2 rounds"):
        trace_from_json(trace_to_json(fake_turn(1, rounds=3)))


def test_reading_can_be_stopped(tmp_path: Path) -> None:
    """A window that closes must not wait for the end of a large file."""
    path, stop = save_trace(tmp_path / "trace.json", fake_turn(1, rounds=3)), threading.Event()
    assert load_trace(path, stop) == fake_turn(1, rounds=3)
    stop.set()
    with pytest.raises(Cancelled):
        load_trace(path, stop)


def test_writing_lets_other_threads_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python's encoder lets no other thread run: a reply of 480 rounds held the window for 80 ms when it ended."""
    turn = fake_turn(3, rounds=40)
    longest = []
    encode = json.JSONEncoder.encode

    def counted(encoder: json.JSONEncoder, value: object) -> str:
        text = encode(encoder, value)
        longest.append(len(text))
        return text

    monkeypatch.setattr(json.JSONEncoder, "encode", counted)
    text = trace_to_json(turn)
    assert max(longest) < len(text) / 20
    monkeypatch.undo()
    assert json.dumps(json.loads(text), separators=(",", ":")) == text


def test_others_can_be_given_a_turn_between_rounds() -> None:
    """Who writes or reads beside a window rests there: it would wait half a millisecond at each call of Qt else."""
    turn, calls = fake_turn(3, rounds=20), list[int]()
    text = trace_to_json(turn, lambda: calls.append(1))
    assert len(calls) == 20
    assert trace_from_json(text, between=lambda: calls.append(2)) == turn
    assert calls.count(2) >= 40
