"""Files that SQLite finds sound and Eyrie cannot use, and rows with values that should not be there."""

from __future__ import annotations

import json
import random
import sqlite3
from pathlib import Path

import pytest

from app.store import Store
from app.store.exchange import to_json, to_markdown
from app.store.store import FILE

OTHER_FILES: dict[str, tuple[str, ...]] = {
    "a table is gone": ("DROP TABLE settings",),
    "chats are gone": ("DROP TABLE chats",),
    "a column is gone": ("ALTER TABLE chats DROP COLUMN model",),
    "another program's": ("DROP TABLE chats", "DROP TABLE messages", "DROP TABLE traces", "CREATE TABLE books (title)"),
    "version lost": ("PRAGMA user_version = 0",),
    "version below nothing": ("PRAGMA user_version = -5",),
}


@pytest.mark.parametrize("statements", OTHER_FILES.values(), ids=OTHER_FILES)
def test_a_sound_file_with_other_tables_is_set_aside(tmp_path: Path, statements: tuple[str, ...]) -> None:
    """SQLite finds nothing wrong with it, and yet no chat could ever be listed or kept in it."""
    Store(tmp_path).close()
    connection = sqlite3.connect(tmp_path / FILE, isolation_level=None)
    for statement in statements:
        connection.execute(statement)
    connection.close()
    store = Store(tmp_path)
    (kept,) = tmp_path.glob("eyrie-corrupt-*.db")
    assert kept.name in store.notice
    store.chats.new("works")
    assert [c.title for c in store.chats.list()] == ["works"]
    store.close()


def test_a_large_damaged_file_is_set_aside_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not read whole at every start, but what the window shows first must be readable, or it could not open."""
    store = Store(tmp_path)
    for n in range(300):
        store.chats.new(f"chat {n}")
    with store.database.read() as c:
        root = c.execute("SELECT rootpage FROM sqlite_master WHERE name = 'chats'").fetchone()[0]
    store.close()
    data = bytearray((tmp_path / FILE).read_bytes())
    data[4096 * (root - 1) : 4096 * root] = random.Random(1).randbytes(4096)
    (tmp_path / FILE).write_bytes(data)
    monkeypatch.setattr("app.store.database.CHECK_UP_TO", 0)
    store = Store(tmp_path)
    assert "was damaged" in store.notice
    assert store.chats.list() == []
    store.close()


ROWS: dict[str, str] = {
    "sampling": "UPDATE chats SET sampling = '{nope'",
    "sampling of another kind": "UPDATE chats SET sampling = '[1]'",
    "title": "UPDATE chats SET title = CAST(x'48ff69' AS TEXT)",
    "title in bytes": "UPDATE chats SET title = x'48ff69'",
    "times": "UPDATE chats SET created = 'yesterday', updated = 9e999",
    "times to come": "UPDATE chats SET created = 1e300, updated = -1e300",
    "prompt and model": "UPDATE chats SET system_prompt = x'00ff', model = CAST(x'ff' AS TEXT)",
    "content": "UPDATE messages SET content = CAST(x'7761fffe7264' AS TEXT) WHERE role = 'assistant'",
    "content in bytes": "UPDATE messages SET content = x'ff' WHERE role = 'assistant'",
    "stats": "UPDATE messages SET stats = '[3]'",
    "stats in bytes": "UPDATE messages SET stats = x'ff', finish_reason = x'ff'",
    "message times": "UPDATE messages SET created = 'never'",
    "chosen children": "UPDATE messages SET active_child = id",
    "chosen child elsewhere": "UPDATE messages SET active_child = (SELECT max(id) FROM messages)",
    "chosen root": "UPDATE chats SET active_root = 12345",
    "a circle": "UPDATE messages SET parent = id, active_child = id WHERE role = 'assistant'",
}


@pytest.mark.parametrize("statement", ROWS.values(), ids=ROWS)
def test_a_damaged_row_costs_only_itself(tmp_path: Path, statement: str) -> None:
    """Lists, paths, search, copies and exports go on: values of the right kind, no error, no endless loop."""
    store = Store(tmp_path)
    chats = [store.chats.new(f"chat {n}") for n in range(2)]
    for chat in chats:
        prompt = store.messages.add(chat.id, None, "user", "a question")
        reply = store.messages.add(chat.id, prompt.id, "assistant")
        store.messages.finish(reply.id, "an answer", "stop", {"rounds": 3})
    with store.database.write() as c:
        c.execute("PRAGMA defer_foreign_keys = ON")
        c.execute(statement)
    store.close()
    store = Store(tmp_path)
    assert store.notice == ""
    assert len(store.chats.list()) == 2
    for chat in store.chats.list():
        assert isinstance(chat.title, str)
        assert isinstance(chat.sampling, dict)
        assert 0 <= chat.created <= chat.updated + 4e9
        path = store.messages.path(chat.id)
        assert path[0].content == "a question"
        assert len(path) <= 2
        assert all(isinstance(m.content, str) and isinstance(m.stats, dict) for m in path)
        store.messages.reveal(path[-1].id)
        json.loads(to_json(store, chat.id))
        assert to_markdown(store, chat.id).startswith("# ")
        copy = store.chats.duplicate(chat.id)
        assert len(store.messages.tree(copy.id)) == 2
    assert store.chats.search("question")
    store.close()
