"""Messages as a tree: every version of every reply and every edited prompt stays. Knows no trace and no model.

A message's parent is the one it answers or follows; siblings are versions. `active_child` (and the chat's
`active_root`) say which version is shown, so one branch of the tree, the path, is the conversation on screen.
"""

from __future__ import annotations

import contextlib
import sqlite3
import time
from typing import Any

from app.store.chats import touch
from app.store.columns import clean, dump, load, moment, text
from app.store.database import Database
from app.store.errors import BusyDatabaseError, StoreError
from app.store.records import ROLES, Message

# The shown branch. A message without a chosen child (imports may have some) shows its newest, and so does one whose
# choice is damaged. A child is always newer than its parent, so no damage can lead in a circle.
PATH = """
WITH RECURSIVE path (id, step) AS (
    SELECT coalesce(
        (SELECT id FROM messages WHERE id = chats.active_root AND chat = :chat AND parent IS NULL),
        (SELECT max(id) FROM messages WHERE chat = :chat AND parent IS NULL)), 0
      FROM chats WHERE id = :chat
    UNION ALL
    SELECT next.id, step + 1
      FROM path JOIN messages ON messages.id = path.id JOIN messages AS next ON next.id = coalesce(
        (SELECT id FROM messages AS m WHERE m.id = messages.active_child AND m.parent = messages.id),
        (SELECT max(id) FROM messages AS m WHERE m.parent = messages.id))
     WHERE next.id > path.id AND next.chat = :chat)
"""
# From a message up: each message above it, and what is chosen below that one's parent. A chat is asked for its root.
UP = """
WITH RECURSIVE up (id, parent, chat) AS (
    SELECT above.id, above.parent, above.chat
      FROM messages JOIN messages AS above ON above.id = messages.parent
     WHERE messages.id = ? AND above.id < messages.id
    UNION ALL
    SELECT above.id, above.parent, above.chat FROM up JOIN messages AS above ON above.id = up.parent
     WHERE above.id < up.id)
SELECT up.id, up.parent, CASE WHEN up.parent IS NULL
    THEN (SELECT active_root FROM chats WHERE chats.id = up.chat)
    ELSE (SELECT active_child FROM messages WHERE messages.id = up.parent) END AS chosen
  FROM up"""
ROW = "messages.*, EXISTS (SELECT 1 FROM traces WHERE message = messages.id) AS has_trace"


class Messages:
    """The messages of one database. Every method raises `StoreError`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, chat: int, parent: int | None, role: str, content: str = "", finish_reason: str = "") -> Message:
        """Append below `parent` (None: at the top) and show it. The first prompt of an untitled chat titles it."""
        with self._database.write() as c:
            return _one(c, _add(c, chat, parent, role, clean(content), finish_reason))

    def ask(self, chat: int, parent: int | None, prompt: str | None) -> list[Message]:
        """Append a prompt (None: only another reply to `parent`) and the empty reply to it, both or none; returns them.

        The branch that holds them is the shown one, whatever was before.
        """
        with self._database.write() as c:
            at, added = parent, []
            if prompt is not None:
                at = _add(c, chat, parent, "user", clean(prompt))
                added = [_one(c, at)]
            reply = _add(c, chat, at, "assistant")
            _reveal(c, reply)
            return [*added, _one(c, reply)]

    def save_progress(self, message: int, content: str) -> None:
        """Keep the whole text so far of a running reply, now and then. A removed message is ignored.

        While another program holds the file nothing is done: a reply must not wait, and its words are in its own file.
        """
        with contextlib.suppress(BusyDatabaseError), self._database.write_now() as c:
            c.execute("UPDATE messages SET content = ? WHERE id = ?", (clean(content), message))

    def finish(self, message: int, content: str, finish_reason: str, stats: dict[str, Any] | None = None) -> None:
        """Keep the final text and why it ended. A removed message is ignored."""
        if not finish_reason:
            raise StoreError("A finished reply needs a reason.")
        with self._database.write() as c:
            c.execute(
                "UPDATE messages SET content = ?, finish_reason = ?, stats = ? WHERE id = ?",
                (clean(content), finish_reason, dump(stats or {}), message),
            )
            c.execute(
                "UPDATE chats SET updated = ? WHERE id = (SELECT chat FROM messages WHERE id = ?)",
                (time.time(), message),
            )

    def get(self, message: int) -> Message:
        """One message with its place among its versions."""
        with self._database.read() as c:
            return _one(c, message)

    def path(self, chat: int) -> list[Message]:
        """The shown branch, first message first."""
        query = f"{PATH} SELECT {ROW} FROM path JOIN messages ON messages.id = path.id ORDER BY step"
        with self._database.read() as c:
            return _with_versions(c, chat, c.execute(query, {"chat": chat}).fetchall())

    def tree(self, chat: int) -> list[Message]:
        """Every message of every branch, oldest first."""
        with self._database.read() as c:
            rows = c.execute(f"SELECT {ROW} FROM messages WHERE chat = ? ORDER BY id", (chat,)).fetchall()
            return _with_versions(c, chat, rows)

    def siblings(self, message: int) -> list[Message]:
        """All versions of a message, itself included, oldest first."""
        with self._database.read() as c:
            row = _row(c, message)
            rows = c.execute(
                f"SELECT {ROW} FROM messages WHERE chat = ? AND parent IS ? ORDER BY id", (row["chat"], row["parent"])
            ).fetchall()
            return _with_versions(c, row["chat"], rows)

    def choose(self, message: int) -> None:
        """Show this version; what follows it is the branch it last had."""
        with self._database.write() as c:
            row = _row(c, message)
            _choose(c, row["chat"], row["parent"], message)

    def reveal(self, message: int) -> None:
        """Choose versions all the way up, so that the message is on the shown branch."""
        with self._database.write() as c:
            _reveal(c, message)

    def active_children(self, chat: int) -> tuple[int | None, dict[int, int | None]]:
        """The chosen first message, and the chosen child of every message; for export."""
        with self._database.read() as c:
            root = c.execute("SELECT active_root FROM chats WHERE id = ?", (chat,)).fetchone()
            rows = c.execute("SELECT id, active_child FROM messages WHERE chat = ?", (chat,)).fetchall()
        return (root["active_root"] if root else None), {row["id"]: row["active_child"] for row in rows}


def _add(
    c: sqlite3.Connection, chat: int, parent: int | None, role: str, words: str = "", finish_reason: str = ""
) -> int:
    if role not in ROLES:
        raise StoreError(f"A message cannot have the role {role!r}: it is one of {', '.join(ROLES)}.")
    if c.execute("SELECT 1 FROM chats WHERE id = ?", (chat,)).fetchone() is None:
        raise StoreError("This chat is gone: it was removed for good.")
    if parent is not None and _row(c, parent)["chat"] != chat:
        raise StoreError("The message to answer belongs to another chat.")
    new = c.execute(
        "INSERT INTO messages (chat, parent, role, content, created, finish_reason) VALUES (?, ?, ?, ?, ?, ?)",
        (chat, parent, role, words, time.time(), finish_reason),
    ).lastrowid
    assert new is not None
    _choose(c, chat, parent, new)
    touch(c, chat, words if role == "user" else "")
    return new


def _reveal(c: sqlite3.Connection, message: int) -> None:
    row = _row(c, message)
    _choose(c, row["chat"], row["parent"], message)
    for above in c.execute(UP, (message,)).fetchall():
        if above["chosen"] != above["id"]:
            _choose(c, row["chat"], above["parent"], above["id"])


def _choose(c: sqlite3.Connection, chat: int, parent: int | None, message: int | None) -> None:
    if parent is None:
        c.execute("UPDATE chats SET active_root = ? WHERE id = ?", (message, chat))
    else:
        c.execute("UPDATE messages SET active_child = ? WHERE id = ?", (message, parent))


def _row(c: sqlite3.Connection, message: int) -> sqlite3.Row:
    row: sqlite3.Row | None = c.execute("SELECT * FROM messages WHERE id = ?", (message,)).fetchone()
    if row is None:
        raise StoreError("This message is gone: its chat was removed for good.")
    return row


def _one(c: sqlite3.Connection, message: int | None) -> Message:
    rows = c.execute(f"SELECT {ROW} FROM messages WHERE id = ?", (message,)).fetchall()
    if not rows:
        raise StoreError("This message is gone: its chat was removed for good.")
    return _with_versions(c, rows[0]["chat"], rows)[0]


def _with_versions(c: sqlite3.Connection, chat: int, rows: list[sqlite3.Row]) -> list[Message]:
    """Messages from rows of one chat, numbered among their siblings."""
    families: dict[int | None, list[int]] = {}
    for row in c.execute("SELECT id, parent FROM messages WHERE chat = ? ORDER BY id", (chat,)):
        families.setdefault(row["parent"], []).append(row["id"])
    return [
        Message(
            id=row["id"],
            chat=row["chat"],
            parent=row["parent"],
            role=row["role"],
            content=text(row["content"]),
            created=moment(row["created"]),
            finish_reason=text(row["finish_reason"]),
            stats=load(row["stats"]),
            version=families[row["parent"]].index(row["id"]) + 1,
            versions=len(families[row["parent"]]),
            has_trace=bool(row["has_trace"]),
        )
        for row in rows
    ]
