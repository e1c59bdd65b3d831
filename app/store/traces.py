"""Recorded turns, one per assistant message, compressed and bounded: the oldest leave first. Knows no trace format."""

from __future__ import annotations

import sqlite3
import time
import zlib

from app.store.database import Database
from app.store.errors import StoreError
from app.store.settings import Settings

LIMIT_KEY = "trace_limit_bytes"
DAMAGED = "The record kept of this reply is damaged and cannot be shown."
DEFAULT_LIMIT = 200 * 2**20  # bytes, compressed


class Traces:
    """Trace JSON by message."""

    def __init__(self, database: Database, settings: Settings) -> None:
        self._database = database
        self._settings = settings

    @property
    def limit(self) -> int:
        """Most bytes all traces may take together; a setting, 0 keeps none."""
        value = self._settings.get(LIMIT_KEY, DEFAULT_LIMIT)
        return max(0, int(value)) if isinstance(value, int | float) else DEFAULT_LIMIT

    def set_limit(self, limit: int) -> None:
        """Change the bound; the oldest traces leave at once if need be."""
        limit = max(0, int(limit))
        self._settings.set(LIMIT_KEY, limit)
        with self._database.write() as c:
            _trim(c, limit)

    def save(self, message: int, trace: str | bytes) -> bool:
        """Keep the trace (JSON text) of a message; False when it alone is larger than the limit."""
        data = zlib.compress(trace.encode("utf-8") if isinstance(trace, str) else trace, 6)
        limit = self.limit
        with self._database.write() as c:
            if c.execute("SELECT 1 FROM messages WHERE id = ?", (message,)).fetchone() is None:
                raise StoreError("The message that this trace belongs to is gone.")
            c.execute("DELETE FROM traces WHERE message = ?", (message,))
            if len(data) > limit:
                return False
            c.execute("INSERT INTO traces VALUES (?, ?, ?, ?)", (message, time.time(), len(data), data))
            _trim(c, limit)
        return True

    def load(self, message: int) -> str | None:
        """The JSON text, or None where none is kept. Raises `StoreError` when it is damaged."""
        with self._database.read() as c:
            row = c.execute("SELECT data FROM traces WHERE message = ?", (message,)).fetchone()
        if row is None:
            return None
        try:
            return zlib.decompress(row["data"]).decode("utf-8")
        except (zlib.error, UnicodeDecodeError, TypeError) as error:
            raise StoreError(DAMAGED) from error

    def total(self) -> int:
        """Bytes all traces take, compressed."""
        with self._database.read() as c:
            return int(c.execute("SELECT coalesce(sum(size), 0) FROM traces").fetchone()[0])


def _trim(c: sqlite3.Connection, limit: int) -> None:
    """Drop the oldest until the rest fits."""
    total = c.execute("SELECT coalesce(sum(size), 0) FROM traces").fetchone()[0]
    for row in c.execute("SELECT message, size FROM traces ORDER BY created, message").fetchall():
        if total <= limit:
            break
        c.execute("DELETE FROM traces WHERE message = ?", (row["message"],))
        total -= row["size"]
