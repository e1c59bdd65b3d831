"""A turn as strict JSON and back, and as a file.

The document:

    {"format": "eyrie-trace", "version": 1, "strings": [...],
     "start": {...} or null, "prefill": {...} or null, "rounds": [{...}, ...], "end": {...} or null}

Objects carry the field names of the records (engine/trace.py, engine/trace_round.py); engine/record_json.py says how
values are written. `strings` holds the texts that occur in columns. A field that has a default may be absent; unknown
keys are skipped: a new field with a default needs no new version. Every kind of damage is a `TraceError` of one
sentence.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import threading
import zlib
from collections.abc import Callable
from pathlib import Path

from engine.errors import Cancelled, TraceError
from engine.json_pieces import loads_in_pieces
from engine.record_json import RecordReader, write_record
from engine.trace import TRACE_VERSION, Prefill, Round, Turn, TurnEnd, TurnStart
from engine.trace_check import check_turn

FORMAT = "eyrie-trace"
MAX_BYTES = 128 * 2**20  # of JSON, uncompressed
MAX_ROUNDS = 100_000


def _nothing() -> None:
    """Between two rounds, unless asked for something."""


def trace_to_json(turn: Turn, between: Callable[[], None] = _nothing) -> str:
    """The turn as one line of ASCII JSON; the same turn gives the same text. Too long for `MAX_BYTES`: `TraceError`.

    Other threads go on meanwhile: Python's encoder lets none run, so each round is written by itself. `between` is
    called after each.
    """
    encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode
    strings: dict[str, int] = {}
    start = encode(turn.start and write_record(turn.start, TurnStart, strings))
    prefill = encode(turn.prefill and write_record(turn.prefill, Prefill, strings))
    rounds = []
    for r in turn.rounds:
        rounds.append(encode(write_record(r, Round, strings)))
        between()
    end = encode(turn.end and write_record(turn.end, TurnEnd, strings))
    head = f'"format":{encode(FORMAT)},"version":{TRACE_VERSION},"strings":{encode(list(strings))}'
    text = f'{{{head},"start":{start},"prefill":{prefill},"rounds":[{",".join(rounds)}],"end":{end}}}'
    _check_size(text)
    return text


def trace_from_json(text: str, cancel: threading.Event | None = None, between: Callable[[], None] = _nothing) -> Turn:
    """Read what `trace_to_json` wrote, check that it agrees with itself, and return it. Other threads go on meanwhile.

    `cancel` ends it with `Cancelled`; `between` is called after each round, twice.
    """

    def go_on() -> None:
        between()
        if cancel is not None and cancel.is_set():
            raise Cancelled("Reading the trace was stopped.")

    _check_size(text)
    try:
        document = loads_in_pieces(text, _no_constant, go_on)
    except RecursionError:
        raise TraceError("This file is not a trace: its JSON is nested without end.") from None
    except ValueError as error:
        where = f" (line {error.lineno}, column {error.colno})" if isinstance(error, json.JSONDecodeError) else ""
        raise TraceError(f"This file is not a trace, because it is not JSON{where}.") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise TraceError("This file is JSON, but not an Eyrie trace: choose one that Eyrie saved.")
    _check_version(document.get("version"))
    missing = [key for key in ("strings", "start", "prefill", "rounds", "end") if key not in document]
    if missing:
        raise TraceError(f"This trace is incomplete: {', '.join(missing)} is missing.")
    reader = RecordReader(document["strings"])
    rounds = document["rounds"]
    if not isinstance(rounds, list) or len(rounds) > MAX_ROUNDS:
        raise TraceError(f"This trace is damaged: rounds is not a list of at most {MAX_ROUNDS} rounds.")
    start = reader.optional(document["start"], TurnStart, "start")
    turn = Turn(start, reader.optional(document["prefill"], Prefill, "prefill"))
    for i in range(len(rounds)):
        turn.rounds.append(reader.read(rounds[i], Round, f"round {i}"))
        rounds[i] = None  # all of them freed at once would stop other threads, and need twice the memory before
        go_on()
    turn.end = reader.optional(document["end"], TurnEnd, "end")
    check_turn(turn)
    return turn


def save_trace(path: Path | str, turn: Turn, between: Callable[[], None] = _nothing) -> Path:
    """Write a trace and return its path. The file appears whole or not at all.

    A name without suffix gets `.json`; one that ends in `.gz` is compressed. `between` as for `trace_to_json`.
    """
    path = Path(path)
    data = trace_to_json(turn, between).encode()
    if path.suffix == ".gz":
        data = gzip.compress(data, mtime=0)
    try:
        if not path.suffix:
            path = path.with_name(path.name + ".json")
        _write_whole(path, data)
    except (OSError, ValueError) as error:
        raise TraceError(f"The trace could not be saved as {path}: {_reason(error)}.") from error
    return path


def load_trace(path: Path | str, cancel: threading.Event | None = None, between: Callable[[], None] = _nothing) -> Turn:
    """Read a trace file, compressed or not; `cancel` and `between` as for `trace_from_json`."""
    path = Path(path)
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            raise TraceError("This is a pipe or a device: choose a file that Eyrie saved.")
        with path.open("rb") as file:
            compressed = file.read(2) == b"\x1f\x8b"
            file.seek(0)
            data = (gzip.GzipFile(fileobj=file) if compressed else file).read(MAX_BYTES + 1)
        _check_size(data)
        text = data.decode("utf-8-sig")
        del data
        return trace_from_json(text, cancel, between)
    except UnicodeDecodeError:
        raise TraceError(f"{path.name}: this file is not a trace, because it is not text.") from None
    except TraceError as error:
        raise TraceError(f"{path.name}: {error}") from None
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise TraceError(f"{path.name}: the compressed data is damaged or cut off.") from None
    except (OSError, ValueError) as error:
        raise TraceError(f"The trace {path} could not be read: {_reason(error)}.") from None


def _write_whole(path: Path, data: bytes) -> None:
    """Write beside, then rename over."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            part.unlink()
        raise


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


def _check_size(text: str | bytes) -> None:
    if len(text) > MAX_BYTES:
        raise TraceError(f"This trace is larger than {MAX_BYTES >> 20} MiB: record a shorter reply.")


def _no_constant(name: str) -> None:
    raise TraceError(f"This file is not a trace, because it is not JSON: {name} is not allowed.")


def _check_version(version: object) -> None:
    if version == TRACE_VERSION and type(version) is int:
        return
    if type(version) is int and version > TRACE_VERSION:
        raise TraceError(
            f"This trace has version {str(version)[:40]}, this Eyrie reads version {TRACE_VERSION}: update Eyrie."
        )
    raise TraceError(f"This trace is damaged: its version is {str(version)[:40]!r}.")
