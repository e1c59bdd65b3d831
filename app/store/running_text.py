"""The text of a reply that runs, in a small file beside the database: adding a round's words to it costs next to
nothing, a transaction costs the engine a part of every round. Knows no window and no engine.

The database gets the whole text now and then, and when the reply ends; what a killed program left in such a file is put
into the database at the next start.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from app.store.columns import clean
from app.store.database import Database
from app.store.errors import StoreError


class RunningText:
    """One reply's file, made with the first words."""

    def __init__(self, database: Path, message: int) -> None:
        self._path = database.with_name(f"{database.name}-reply-{message}")
        self._file = -1

    def add(self, text: str) -> None:
        """Keep more words; they survive the end of this process, whatever ends it. Raises `StoreError`."""
        try:
            if self._file < 0:
                self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0))
            data = clean(text).encode()
            if os.write(self._file, data) != len(data):
                raise StoreError(f"{self._path} cannot be written: the disk is full.")
        except OSError as error:
            raise StoreError(f"{self._path} cannot be written: {error.strerror or error}.") from error

    def remove(self) -> None:
        """The database has it all."""
        if self._file >= 0:
            with contextlib.suppress(OSError):
                os.close(self._file)
                self._path.unlink(missing_ok=True)
            self._file = -1


def recover(database: Database) -> None:
    """Put what a killed program left into its messages, where it is longer than what they hold. Raises `StoreError`."""
    for path in database.path.parent.glob(f"{database.path.name}-reply-*"):
        number = path.name.rpartition("-")[2]
        try:
            text = path.read_bytes().decode(errors="ignore")
        except OSError:
            continue
        if number.isascii() and number.isdigit():
            with database.write() as c:
                c.execute(
                    "UPDATE messages SET content = ? WHERE id = ? AND role = 'assistant' AND finish_reason = ''"
                    " AND length(content) < length(?)",
                    (text, int(number), text),
                )
        with contextlib.suppress(OSError):
            path.unlink()
