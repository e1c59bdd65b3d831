"""Tables of the chat database, as a list of steps from one version to the next.

`PRAGMA user_version` holds how many steps a file has had. A step is never edited once released; a new one is added.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

Step = tuple[str, ...]

FIRST: Step = (
    """CREATE TABLE chats (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        title TEXT NOT NULL DEFAULT '',
        created REAL NOT NULL,
        updated REAL NOT NULL,
        system_prompt TEXT NOT NULL DEFAULT '',
        sampling TEXT NOT NULL DEFAULT '{}',
        model TEXT NOT NULL DEFAULT '',
        active_root INTEGER,
        deleted_at REAL)""",
    # No cascade along `parent`: SQLite refuses cascades deeper than 1000, and a chat may be longer than that.
    """CREATE TABLE messages (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        chat INTEGER NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
        parent INTEGER REFERENCES messages (id),
        role TEXT NOT NULL CHECK (role IN ('user', 'assistant')),
        content TEXT NOT NULL,
        created REAL NOT NULL,
        finish_reason TEXT NOT NULL DEFAULT '',
        active_child INTEGER,
        stats TEXT NOT NULL DEFAULT '{}')""",
    "CREATE INDEX messages_of_chat ON messages (chat, id)",
    "CREATE INDEX messages_of_parent ON messages (parent)",
    """CREATE TABLE traces (
        message INTEGER PRIMARY KEY REFERENCES messages (id) ON DELETE CASCADE,
        created REAL NOT NULL,
        size INTEGER NOT NULL,
        data BLOB NOT NULL)""",
    "CREATE TABLE settings (key TEXT PRIMARY KEY, value TEXT NOT NULL)",
)

MIGRATIONS: tuple[Step, ...] = (FIRST,)


def version(connection: sqlite3.Connection) -> int:
    """Steps this file has had."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def missing(connection: sqlite3.Connection) -> str:
    """What a file of this version should have and has not, in words; "" for nothing.

    A file without steps must be empty: its tables would be somebody else's.
    """
    done = version(connection)
    if not 0 <= done <= len(MIGRATIONS):
        return "its version makes no sense"
    if done == 0:
        return "its tables are not Eyrie's" if connection.execute("SELECT 1 FROM sqlite_master").fetchone() else ""
    model = sqlite3.connect(":memory:", isolation_level=None)
    try:
        migrate(model, MIGRATIONS[:done])
        for (table,) in model.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            wanted, found = (_columns(c, table) for c in (model, connection))
            if not wanted <= found:
                return f"its table {table} is missing or incomplete"
    finally:
        model.close()
    return ""


def _columns(connection: sqlite3.Connection, table: str) -> set[str]:
    return {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}


def migrate(connection: sqlite3.Connection, steps: Sequence[Step] = MIGRATIONS) -> None:
    """Bring a file up to date. Each step is one transaction with its number: a failed one leaves the file as it was.

    `connection` must be in autocommit mode.
    """
    while version(connection) < len(steps):
        connection.execute("BEGIN IMMEDIATE")
        try:
            done = version(connection)  # another process may have been faster
            if done < len(steps):
                for statement in steps[done]:
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {done + 1}")
            connection.execute("COMMIT")
        except BaseException:
            connection.execute("ROLLBACK")
            raise
