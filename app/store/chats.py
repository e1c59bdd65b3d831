"""Conversations: list, make, rename, duplicate, delete with undo, search. Sees messages only to copy and find them."""

from __future__ import annotations

import builtins
import sqlite3
import time
from typing import Any

from app.store.columns import clean, dump, load, moment, one_line, text
from app.store.database import Database
from app.store.errors import StoreError
from app.store.records import Chat, Hit, title_from

EXCERPT = 80  # characters around a hit


class Chats:
    """The chats of one database. Every method raises `StoreError`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def list(self) -> list[Chat]:
        """All that are not deleted, latest change first."""
        with self._database.read() as c:
            rows = c.execute("SELECT * FROM chats WHERE deleted_at IS NULL ORDER BY updated DESC, id DESC").fetchall()
        return [_chat(row) for row in rows]

    def get(self, chat: int) -> Chat:
        """One chat, deleted or not."""
        with self._database.read() as c:
            return _chat(_row(c, chat))

    def new(
        self, title: str = "", system_prompt: str = "", sampling: dict[str, Any] | None = None, model: str = ""
    ) -> Chat:
        """Make an empty chat."""
        now = time.time()
        with self._database.write() as c:
            chat = c.execute(
                "INSERT INTO chats (title, created, updated, system_prompt, sampling, model) VALUES (?, ?, ?, ?, ?, ?)",
                (one_line(title), now, now, clean(system_prompt), dump(sampling or {}), model),
            ).lastrowid
            return _chat(_row(c, chat))

    def fresh(self) -> Chat:
        """An empty, untitled chat: the newest one if it is that, or a new one."""
        newest = next(iter(self.list()), None)
        if newest is None or newest.title:
            return self.new()
        with self._database.read() as c:
            used = c.execute("SELECT 1 FROM messages WHERE chat = ?", (newest.id,)).fetchone()
        return self.new() if used else newest

    def rename(self, chat: int, title: str) -> None:
        """Give a title; blank makes it untitled again."""
        self._set(chat, "title", one_line(title))

    def set_system_prompt(self, chat: int, prompt: str) -> None:
        """Change the system prompt of a chat; acts at the next reply."""
        self._set(chat, "system_prompt", clean(prompt))

    def set_sampling(self, chat: int, sampling: dict[str, Any]) -> None:
        """Keep the sampling values that differ from the defaults."""
        self._set(chat, "sampling", dump(sampling))

    def set_model(self, chat: int, model: str) -> None:
        """Note which model answers in this chat."""
        self._set(chat, "model", model)

    def delete(self, chat: int) -> None:
        """Hide a chat; `undo_delete` brings it back until `purge`."""
        self._set(chat, "deleted_at", time.time())

    def undo_delete(self, chat: int) -> None:
        """Bring a deleted chat back, unchanged."""
        self._set(chat, "deleted_at", None)

    def purge(self, before: float | None = None) -> int:
        """Remove for good what was deleted before a Unix time (None: everything deleted); returns how many."""
        with self._database.write() as c:
            limit = time.time() + 1 if before is None else before
            return c.execute("DELETE FROM chats WHERE deleted_at < ?", (limit,)).rowcount

    def duplicate(self, chat: int) -> Chat:
        """Copy a chat with every branch and every recorded trace."""
        now = time.time()
        with self._database.write() as c:
            source = _chat(_row(c, chat))
            copy = c.execute(
                "INSERT INTO chats (title, created, updated, system_prompt, sampling, model) "
                "SELECT ?, ?, ?, system_prompt, sampling, model FROM chats WHERE id = ?",
                (f"{source.name} (copy)", now, now, chat),
            ).lastrowid
            ids: dict[int | None, int | None] = {None: None}
            rows = c.execute("SELECT * FROM messages WHERE chat = ? ORDER BY id", (chat,)).fetchall()
            for row in rows:
                ids[row["id"]] = c.execute(
                    "INSERT INTO messages (chat, parent, role, content, created, finish_reason, stats) "
                    "SELECT ?, ?, role, content, created, finish_reason, stats FROM messages WHERE id = ?",
                    (copy, ids.get(row["parent"]), row["id"]),
                ).lastrowid
                c.execute(
                    "INSERT INTO traces SELECT ?, created, size, data FROM traces WHERE message = ?",
                    (ids[row["id"]], row["id"]),
                )
            for row in rows:
                child = ids.get(row["active_child"])
                c.execute("UPDATE messages SET active_child = ? WHERE id = ?", (child, ids[row["id"]]))
            root = c.execute("SELECT active_root FROM chats WHERE id = ?", (chat,)).fetchone()["active_root"]
            c.execute("UPDATE chats SET active_root = ? WHERE id = ?", (ids.get(root), copy))
            return _chat(_row(c, copy))

    def search(self, words: str, chat: int | None = None, limit: int = 200) -> builtins.list[Hit]:
        """Where the words occur, in titles and in every branch of every message, newest chat first.

        Upper and lower case are alike; the text is taken literally. `chat` narrows to one chat.
        """
        wanted = clean(words).strip()
        if not wanted:
            return []
        folded = wanted.casefold()
        only = "" if chat is None else "AND chats.id = :chat"
        query = f"""
            SELECT chats.id AS chat, title, 0 AS message, '' AS role, title AS content, updated
              FROM chats WHERE deleted_at IS NULL {only} AND has(CAST(title AS BLOB), :text)
            UNION ALL
            SELECT chats.id, title, messages.id, role, content, updated
              FROM messages JOIN chats ON chats.id = messages.chat
             WHERE deleted_at IS NULL {only} AND has(CAST(content AS BLOB), :text)
             ORDER BY updated DESC, chat DESC, message LIMIT :limit"""
        with self._database.read() as c:
            rows = c.execute(query, {"text": folded, "chat": chat, "limit": limit}).fetchall()
        return [_hit(row, wanted) for row in rows]

    def _set(self, chat: int, column: str, value: object) -> None:
        with self._database.write() as c:
            changed = c.execute(f"UPDATE chats SET {column} = ? WHERE id = ?", (value, chat)).rowcount
        if not changed:
            raise StoreError("This chat is gone: it was removed for good.")


def touch(c: sqlite3.Connection, chat: int, first_words: str = "") -> None:
    """Note a change of a chat; an untitled one takes its title from `first_words`."""
    c.execute("UPDATE chats SET updated = ? WHERE id = ?", (time.time(), chat))
    if first_words:
        c.execute("UPDATE chats SET title = ? WHERE id = ? AND title = ''", (title_from(first_words), chat))


def _row(c: sqlite3.Connection, chat: int | None) -> sqlite3.Row:
    row: sqlite3.Row | None = c.execute("SELECT * FROM chats WHERE id = ?", (chat,)).fetchone()
    if row is None:
        raise StoreError("This chat is gone: it was removed for good.")
    return row


def _chat(row: sqlite3.Row) -> Chat:
    return Chat(
        id=row["id"],
        title=one_line(text(row["title"])),
        created=moment(row["created"]),
        updated=moment(row["updated"]),
        system_prompt=text(row["system_prompt"]),
        sampling=load(row["sampling"]),
        model=text(row["model"]),
    )


def _hit(row: sqlite3.Row, wanted: str) -> Hit:
    """Cut one line around the first match. Where folding changes lengths ("ß") the match may be off by a little."""
    content = text(row["content"])
    at = max(0, content.casefold().find(wanted.casefold()))
    end = at + len(wanted)
    left, right = max(0, at - EXCERPT // 2), min(len(content), end + EXCERPT // 2)
    before = ("…" if left else "") + content[left:at]
    excerpt = before + content[at:right] + ("…" if right < len(content) else "")
    return Hit(
        chat=row["chat"],
        title=one_line(text(row["title"])),
        message=row["message"],
        role=row["role"],
        excerpt="".join(" " if ch.isspace() else ch for ch in excerpt),
        start=len(before),
        length=len(content[at:end]),
    )
