"""The SQLite file: opened, checked, set aside when damaged, one connection per thread. Knows no table by name."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from app.store.columns import text
from app.store.errors import CORRUPT_CODES, CorruptDatabaseError, NewerDatabaseError, StoreError, translate
from app.store.schema import MIGRATIONS, migrate, missing, version

CHECK_UP_TO = 64 * 2**20  # bytes; a larger file is checked only after something went wrong, it would delay the start
BUSY_SECONDS = 2.0  # that a thread waits for another program's lock
BUSY_FIRST_SECONDS = 0.2  # the same for the thread that opened the file: it clears up there before the window is shown


class Database:
    """One file. `read()` and `write()` give the calling thread's own connection inside a transaction.

    The constructor raises `CorruptDatabaseError` or `NewerDatabaseError` (the file is then untouched), or `StoreError`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._local = threading.local()
        self._open: list[sqlite3.Connection] = []
        self._lock = threading.Lock()
        self._closed = False
        with self._translated():
            if path.exists():
                self._look(path)
            migrate(self._connection())
            self._wait(self._connection(), BUSY_FIRST_SECONDS)

    @contextlib.contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """A consistent view: several SELECTs see the same state."""
        with self._translated(), _transaction(self._connection(), "BEGIN") as connection:
            yield connection

    @contextlib.contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """All or nothing."""
        with self._translated(), _transaction(self._connection(), "BEGIN IMMEDIATE") as connection:
            yield connection

    @contextlib.contextmanager
    def write_now(self) -> Iterator[sqlite3.Connection]:
        """The same without waiting: `BusyDatabaseError` at once while another program holds the file."""
        with self._translated():
            connection = self._connection()
            patience = connection.execute("PRAGMA busy_timeout").fetchone()[0] / 1000
            self._wait(connection, 0)
            try:
                with _transaction(connection, "BEGIN IMMEDIATE"):
                    yield connection
            finally:
                self._wait(connection, patience)

    @staticmethod
    def _wait(connection: sqlite3.Connection, seconds: float) -> None:
        connection.execute(f"PRAGMA busy_timeout = {round(seconds * 1000)}")

    def close(self) -> None:
        """Close every thread's connection; later use raises `StoreError`."""
        with self._lock:
            self._closed = True
            connections, self._open = self._open, []
        for connection in connections:
            with contextlib.suppress(sqlite3.Error):
                connection.close()

    def _connection(self) -> sqlite3.Connection:
        connection = getattr(self._local, "connection", None)
        if self._closed:
            raise StoreError("The chat database is closed.")
        if connection is None:
            connection = sqlite3.connect(
                self.path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False, cached_statements=256
            )
            connection.row_factory = sqlite3.Row
            connection.text_factory = _decoded
            connection.create_function("has", 2, _has, deterministic=True)
            with self._lock:
                self._open.append(connection)
            for pragma in ("journal_mode = WAL", "synchronous = NORMAL", "foreign_keys = ON"):
                connection.execute(f"PRAGMA {pragma}")
            self._local.connection = connection
        return connection

    def _look(self, path: Path) -> None:
        """Check an existing file without writing to it."""
        marker = _marker(path)
        connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=BUSY_SECONDS)
        try:
            found = version(connection)
            if found > len(MIGRATIONS):
                raise NewerDatabaseError(
                    f"{path.name} was written by a newer Eyrie (format {found}, this one reads {len(MIGRATIONS)}): "
                    f"it is left as it is; update Eyrie to see those chats."
                )
            if marker.exists() or path.stat().st_size <= CHECK_UP_TO:
                problem = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
                problem = "" if problem == "ok" else " ".join(problem.split())
            else:  # at least what the window shows first
                problem = ""
                connection.execute("SELECT max(updated), max(title) FROM chats").fetchone()
            problem = problem or missing(connection)
            if problem:
                raise CorruptDatabaseError(f"The chat database {path.name} is damaged ({problem}).")
        finally:
            connection.close()
        marker.unlink(missing_ok=True)

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.ProgrammingError as error:
            if self._closed:
                raise StoreError("The chat database is closed.") from error
            raise
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF in CORRUPT_CODES:
                with contextlib.suppress(OSError):
                    _marker(self.path).touch()
            raise translate(error, self.path) from error
        except OSError as error:
            raise StoreError(f"{self.path} cannot be used: {error.strerror or error}.") from error


@contextlib.contextmanager
def _transaction(connection: sqlite3.Connection, begin: str) -> Iterator[sqlite3.Connection]:
    connection.execute(begin)
    try:
        yield connection
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # a full disk may have rolled back already
            connection.execute("ROLLBACK")
        raise


_decoded = partial(str, encoding="utf-8", errors="replace")  # of every text in every row: quicker than a function here


def _has(data: object, folded: str) -> bool:
    """SQL function: whether the text `data` (UTF-8) holds `folded`, upper and lower case alike in every script."""
    return folded in text(data).casefold()


def _marker(path: Path) -> Path:
    """Beside the file while it is suspected to be damaged: the next start checks all of it."""
    return path.with_name(path.name + ".check")


def set_aside(path: Path, reason: str) -> Path:
    """Rename a damaged file, with the -wal and -shm that belong to it, to NAME-corrupt-TIME.db; returns that path."""
    stamp = time.strftime("%Y%m%d-%H%M%S")
    names = (f"{path.stem}-corrupt-{stamp}{suffix}{path.suffix}" for suffix in ("", *(f"-{n}" for n in range(2, 100))))
    target = next(p for name in names if not (p := path.with_name(name)).exists())
    try:
        for end in ("-wal", "-shm", ""):
            part = path.with_name(path.name + end)
            if part.exists():
                part.rename(target.with_name(target.name + end))
        _marker(path).unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(f"{reason} It could not be set aside: {error.strerror or error}.") from error
    return target
