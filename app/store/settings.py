"""Small values that outlive a session, by key, as JSON. Knows no key's meaning."""

from __future__ import annotations

import json
from typing import Any

from app.store.database import Database


class Settings:
    """A persistent dictionary."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, key: str, default: Any = None) -> Any:
        """The value, or `default` where there is none or it cannot be read."""
        with self._database.read() as c:
            row = c.execute("SELECT value FROM settings WHERE key = ?", (key,)).fetchone()
        if row is None:
            return default
        try:
            return json.loads(row["value"])
        except ValueError:
            return default

    def set(self, key: str, value: Any) -> None:
        """Keep a JSON-able value; None removes the key."""
        with self._database.write() as c:
            if value is None:
                c.execute("DELETE FROM settings WHERE key = ?", (key,))
            else:
                c.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (key, json.dumps(value)))
