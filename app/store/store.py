"""The door of the store: where the file is, and what can be asked. Usable from every thread."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
from pathlib import Path

import platformdirs

from app.store.chats import Chats
from app.store.database import Database, set_aside
from app.store.errors import CorruptDatabaseError, NewerDatabaseError, StoreError
from app.store.messages import Messages
from app.store.running_text import RunningText, recover
from app.store.schema import MIGRATIONS
from app.store.settings import Settings
from app.store.traces import Traces

FILE = "eyrie.db"
DELETED_STAY = 7 * 24 * 3600  # seconds until a deleted chat is removed for good


def data_folder() -> Path:
    """The user's data directory for Eyrie; the environment variable EYRIE_DATA overrides it."""
    override = os.environ.get("EYRIE_DATA")
    return Path(override) if override else Path(platformdirs.user_data_dir("eyrie", appauthor=False))


class Store:
    """Chats, messages, traces and settings of one database file.

    Attributes:
        chats, messages, traces, settings: what can be asked, by noun.
        notice: one sentence for the user when the file had to be set aside or replaced; "" otherwise.
        path: the file in use.
        database: the file itself, for modules of the store.
    """

    def __init__(self, folder: Path | None = None, temporary: bool = False) -> None:
        """Open or make the database in `folder`, which goes with `close` if it is `temporary`. Raises `StoreError` when
        that folder cannot hold one."""
        folder = folder or data_folder()
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"The folder {folder} cannot be made: {error.strerror or error}.") from error
        self.notice = ""
        self._temporary = folder if temporary else None
        self.database = self._opened(folder / FILE)
        self.path = self.database.path
        self.settings = Settings(self.database)
        self.chats = Chats(self.database)
        self.messages = Messages(self.database)
        self.traces = Traces(self.database, self.settings)
        with contextlib.suppress(StoreError):  # the file may be busy or full; the next start tries again
            recover(self.database)
            self.chats.purge(time.time() - DELETED_STAY)

    def running_text(self, message: int) -> RunningText:
        """Where the words of a running reply are kept between two times that the database gets them."""
        return RunningText(self.path, message)

    def close(self) -> None:
        """Close every thread's connection."""
        self.database.close()
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)

    def _opened(self, path: Path) -> Database:
        try:
            return Database(path)
        except CorruptDatabaseError as error:
            kept = set_aside(path, str(error))
            self.notice = f"The chat database was damaged and is kept as {kept.name}; a new, empty one is in use."
            return Database(path)
        except NewerDatabaseError as error:
            self.notice = f"{error} Until then chats are kept in a file of their own."
            return Database(path.with_name(f"{path.stem}-format{len(MIGRATIONS)}{path.suffix}"))


def open_store(folder: Path | None = None) -> Store:
    """A store in any case: where the data folder cannot be used, one in a temporary folder that says so in `notice`.

    It holds a copy of the chats where they can be read and the folder only cannot be written.
    """
    folder = folder or data_folder()
    if not _writable(folder) and (copy := _copied(folder)) is not None:
        store = Store(copy, temporary=True)
        store.notice = store.notice or (
            f"The folder {folder} is write-protected: your chats are shown, but what you change or add is lost when "
            "Eyrie closes."
        )
        return store
    try:
        return Store(folder)
    except StoreError as error:
        store = Store(_new_folder(), temporary=True)
        store.notice = f"{error} Until that is mended chats are lost when Eyrie closes."
        return store


def _new_folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="eyrie-"))


def _writable(folder: Path) -> bool:
    parts = [path for path in (folder, folder / FILE) if path.exists()]
    return all(os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids) for path in parts)


def _copied(source: Path) -> Path | None:
    """A new folder with the database and what its log holds; None where they cannot be read."""
    if not (source / FILE).is_file():
        return None
    target = _new_folder()
    try:
        for path in (source / FILE, source / f"{FILE}-wal"):
            if path.is_file():
                shutil.copyfile(path, target / path.name)
    except OSError:
        shutil.rmtree(target, ignore_errors=True)
        return None
    return target
