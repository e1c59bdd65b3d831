"""A conversation file brought back as a new chat: every field checked before the first row is written."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from app.naps import Naps
from app.store.columns import clean, dump, one_line
from app.store.errors import StoreError
from app.store.exchange import FORMAT, VERSION
from app.store.records import ROLES, Chat
from app.store.store import Store
from engine import loads_in_pieces

LARGEST = 256 * 2**20  # bytes
SamplingCheck = Callable[[dict[str, Any]], object]  # raises any exception whose text names the bad value


def import_file(store: Store, path: Path, check_sampling: SamplingCheck | None = None) -> Chat:
    """Read a JSON export. Raises `StoreError`, one sentence that names the file, and then adds nothing."""
    try:
        if not path.is_file() and path.exists():
            raise StoreError(f"{path.name} is not a file that can be imported: choose a conversation saved as JSON.")
        if path.stat().st_size > LARGEST:
            raise StoreError(f"{path.name} is too large for a conversation (limit {LARGEST >> 20} MiB).")
        data = path.read_bytes()
    except OSError as error:
        raise StoreError(f"{path.name} could not be read: {error.strerror or error}.") from error
    return from_json(store, data, check_sampling, path.name)


def from_json(
    store: Store, data: str | bytes, check_sampling: SamplingCheck | None = None, name: str = "The file"
) -> Chat:
    """Add the conversation in `data` as a new chat. Raises `StoreError` and then adds nothing."""
    naps = Naps()
    try:
        document = _document(data, naps)
        messages = _messages(document, naps)
        if check_sampling is not None:
            check_sampling(document["sampling"])
        document["sampling"] = _column(document["sampling"], "sampling")
    except _BrokenError as error:
        raise StoreError(f"{name} cannot be imported: {error}") from error
    except Exception as error:
        if check_sampling is None:
            raise
        raise StoreError(f"{name} cannot be imported: its sampling values are wrong: {error}") from error
    return _insert(store, document, messages, naps)


class _BrokenError(Exception):
    """What is wrong with the file, without its name."""


def _document(data: str | bytes, naps: Naps) -> dict[str, Any]:
    if isinstance(data, bytes):
        try:
            data = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise _BrokenError("it is not text in UTF-8.") from error
    try:
        document = loads_in_pieces(data, _no_constant, naps)
    except (ValueError, RecursionError) as error:
        line = f" (line {error.lineno})" if isinstance(error, json.JSONDecodeError) else ""
        raise _BrokenError(f"it is not valid JSON{line}.") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise _BrokenError(f'it is not an Eyrie conversation: "format" is not "{FORMAT}".')
    version: Any = document.get("version")
    if not _is_int(version) or version < 1:
        raise _BrokenError('its "version" is missing.')
    if version > VERSION:
        raise _BrokenError(
            f"it was written by a newer Eyrie (version {version}, this one reads {VERSION}): update Eyrie."
        )
    for key in ("title", "system_prompt", "model"):
        _expect(document.setdefault(key, ""), str, key)
    _expect(document.setdefault("sampling", {}), dict, "sampling")
    now = time.time()
    for key in ("created", "updated"):
        _expect_time(document.setdefault(key, now), key)
    return document


def _messages(document: dict[str, Any], naps: Naps) -> list[dict[str, Any]]:
    """The messages, checked, parents before children."""
    messages: Any = document.get("messages")
    _expect(messages, list, "messages")
    by_id: dict[int, dict[str, Any]] = {}
    for n, message in enumerate(messages, 1):
        where = f"message {n}"
        _expect(message, dict, where)
        if not _is_int(message.get("id")) or message["id"] in by_id:
            raise _BrokenError(f'{where} has no "id" of its own.')
        if message.get("role") not in ROLES:
            raise _BrokenError(f"{where} has the role {message.get('role')!r}: it must be {' or '.join(ROLES)}.")
        _expect(message.get("content"), str, f"content of {where}")
        _expect_time(message.setdefault("created", document["created"]), f"created of {where}")
        _expect(message.setdefault("finish_reason", ""), str, f"finish_reason of {where}")
        message["stats"] = _column(message.setdefault("stats", {}), f"stats of {where}")
        by_id[message["id"]] = message
        naps()
    return _ordered(document, by_id)


def _ordered(document: dict[str, Any], by_id: dict[int, dict[str, Any]]) -> list[dict[str, Any]]:
    children: dict[int | None, list[dict[str, Any]]] = {}
    for message in by_id.values():
        parent = message.setdefault("parent", None)
        if parent is not None and (not _is_int(parent) or parent not in by_id):
            raise _BrokenError(f"message {message['id']} follows message {parent!r}, which is not in the file.")
        children.setdefault(parent, []).append(message)
    chosen = [(None, document.setdefault("active_root", None))]
    chosen += [(m["id"], m.setdefault("active_child", None)) for m in by_id.values()]
    for parent, child in chosen:
        if child is not None and (not _is_int(child) or child not in by_id or by_id[child]["parent"] != parent):
            raise _BrokenError(f"the shown version {child!r} is not among the answers to message {parent!r}.")
    ordered = list(children.get(None, []))
    for message in ordered:  # grows while it is walked: breadth first
        ordered += children.get(message["id"], [])
    if len(ordered) < len(by_id):
        raise _BrokenError("some of its messages follow each other in a circle.")
    return ordered


def _insert(store: Store, document: dict[str, Any], messages: list[dict[str, Any]], naps: Naps) -> Chat:
    with store.database.write() as c:
        chat = c.execute(
            "INSERT INTO chats (title, created, updated, system_prompt, sampling, model) VALUES (?, ?, ?, ?, ?, ?)",
            (
                one_line(document["title"]),
                document["created"],
                time.time(),
                clean(document["system_prompt"]),
                document["sampling"],
                clean(document["model"]),
            ),
        ).lastrowid
        ids: dict[int | None, int | None] = {None: None}
        for m in messages:
            values = (clean(m["content"]), m["created"], clean(m["finish_reason"]), m["stats"])
            ids[m["id"]] = c.execute(
                "INSERT INTO messages (chat, parent, role, content, created, finish_reason, stats) "
                "VALUES (?, ?, ?, ?, ?, ?, ?)",
                (chat, ids[m["parent"]], m["role"], *values),
            ).lastrowid
            naps()
        for m in messages:
            c.execute("UPDATE messages SET active_child = ? WHERE id = ?", (ids[m["active_child"]], ids[m["id"]]))
            naps()
        c.execute("UPDATE chats SET active_root = ? WHERE id = ?", (ids[document["active_root"]], chat))
    return store.chats.get(int(chat or 0))


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63


def _column(value: Any, what: str) -> str:
    _expect(value, dict, what)
    try:
        return dump(value)
    except RecursionError as error:
        raise _BrokenError(f"its {what} is nested too deeply.") from error


def _expect(value: object, kind: type[Any], what: str) -> None:
    if not isinstance(value, kind):
        name = {"str": "text", "dict": "an object", "list": "a list"}[kind.__name__]
        raise _BrokenError(f"its {what} is not {name}.")


def _expect_time(value: object, what: str) -> None:
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value) or abs(value) > 1e12:
        raise _BrokenError(f"its {what} is not a time in seconds.")
