"""What can go wrong with the chat database, as one sentence each. Knows SQLite's error codes and nothing else."""

from __future__ import annotations

import sqlite3
from pathlib import Path


class StoreError(Exception):
    """The message is one sentence for the user: what is wrong and what to do."""


class NewerDatabaseError(StoreError):
    """The file was written by a newer Eyrie; it was not touched."""


class CorruptDatabaseError(StoreError):
    """The file is damaged or is not a database."""


class BusyDatabaseError(StoreError):
    """Another program writes to the file just now."""


CORRUPT_CODES = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})


def translate(error: sqlite3.Error, path: Path) -> StoreError:
    """The sentence for an SQLite error on the database at `path`."""
    code = getattr(error, "sqlite_errorcode", -1) & 0xFF  # the primary code of an extended one
    name = path.name
    if code in CORRUPT_CODES:
        return CorruptDatabaseError(f"The chat database {name} is damaged: restart Eyrie and it will be set aside.")
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return BusyDatabaseError(f"Another program is using {name}: close it and try again.")
    sentences = {
        sqlite3.SQLITE_FULL: f"The disk is full, so {name} could not be saved: free some space and try again.",
        sqlite3.SQLITE_READONLY: f"{name} is write-protected: make the folder {path.parent} writable and try again.",
        sqlite3.SQLITE_CANTOPEN: f"{name} cannot be opened: check that {path.parent} exists and is writable.",
        sqlite3.SQLITE_IOERR: f"Reading or writing {name} failed: check the disk ({error}).",
        sqlite3.SQLITE_TOOBIG: "This text is too long for the chat database: shorten it.",
    }
    return StoreError(sentences.get(code, f"The chat database {name} refused: {error}."))
