import os
import random
import sqlite3
from pathlib import Path

import pytest

from app.store import Store, StoreError, data_folder, open_store
from app.store.database import Database
from app.store.errors import translate
from app.store.schema import MIGRATIONS, migrate, version
from app.store.store import FILE


def test_the_folder_comes_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests and portable installs decide where chats live."""
    monkeypatch.setenv("EYRIE_DATA", str(tmp_path / "a" / "b"))
    store = Store()
    assert store.path == tmp_path / "a" / "b" / FILE
    store.close()
    monkeypatch.delenv("EYRIE_DATA")
    assert "eyrie" in str(data_folder())


def test_pragmas(store: Store) -> None:
    """WAL survives a kill; NORMAL does not wait for the disk each round; foreign keys are off unless asked for."""
    with store.database.read() as c:
        found = [c.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous", "foreign_keys")]
        assert version(c) == len(MIGRATIONS)
    assert found == ["wal", 1, 1]


@pytest.mark.parametrize("damage", ["header", "middle", "not a database"])
def test_a_damaged_file_is_set_aside(tmp_path: Path, damage: str) -> None:
    """The app starts with an empty database, says so, and keeps the damaged file byte for byte."""
    store = Store(tmp_path)
    chat = store.chats.new("x")
    for _ in range(50):
        store.messages.add(chat.id, None, "user", "words " * 200)
    store.close()
    path = tmp_path / FILE
    data = bytearray(path.read_bytes())
    if damage == "header":
        data[:16] = b"\0" * 16
    elif damage == "middle":
        for at in range(4096, len(data), 4096):
            data[at : at + 100] = random.Random(at).randbytes(100)
    else:
        data = bytearray(b"this is a text file, longer than a header" * 20)
    path.write_bytes(data)
    store = Store(tmp_path)
    kept = list(tmp_path.glob("eyrie-corrupt-*.db"))
    assert len(kept) == 1
    assert kept[0].read_bytes() == data
    assert kept[0].name in store.notice
    assert store.chats.list() == []
    store.chats.new("works")
    store.close()
    again = Store(tmp_path)
    assert again.notice == ""
    assert [c.title for c in again.chats.list()] == ["works"]
    again.close()


def test_the_write_ahead_log_goes_aside_with_its_file(tmp_path: Path) -> None:
    """The -wal holds the newest chats; a rescue tool needs it beside the file under the same name."""
    (tmp_path / FILE).write_bytes(b"not a database at all, not even close" * 100)
    (tmp_path / (FILE + "-wal")).write_bytes(b"log")
    Store(tmp_path).close()
    (kept,) = tmp_path.glob("eyrie-corrupt-*.db")
    assert kept.with_name(kept.name + "-wal").read_bytes() == b"log"


def test_two_damaged_files_in_one_second_keep_both(tmp_path: Path) -> None:
    """Setting aside never overwrites an earlier rescue."""
    for n in range(2):
        (tmp_path / FILE).write_bytes(b"garbage %d " % n * 100)
        Store(tmp_path).close()
    assert len(list(tmp_path.glob("eyrie-corrupt-*.db"))) == 2


def test_damage_found_later_is_checked_at_the_next_start(tmp_path: Path) -> None:
    """A large file is not read whole at every start; an error while running orders the full check."""
    store = Store(tmp_path)
    error = sqlite3.DatabaseError("database disk image is malformed")
    error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT  # type: ignore[misc]
    with pytest.raises(StoreError, match="damaged"), store.database.write():
        raise error
    assert (tmp_path / (FILE + ".check")).exists()
    store.close()
    Store(tmp_path).close()
    assert not (tmp_path / (FILE + ".check")).exists()


def test_a_newer_database_is_not_touched(tmp_path: Path) -> None:
    """Chats of a newer Eyrie stay byte for byte; this one works in a file of its own and says why."""
    store = Store(tmp_path)
    store.chats.new("from the future")
    store.close()
    path = tmp_path / FILE
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    before = path.read_bytes()
    for round_ in range(2):
        store = Store(tmp_path)
        assert "newer Eyrie" in store.notice
        assert store.path != path
        assert len(store.chats.list()) == round_
        store.chats.new("mine")
        store.close()
    assert path.read_bytes() == before


def test_a_failed_migration_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    """Half a migration would be a file that no version reads."""
    connection = sqlite3.connect(tmp_path / "x.db", isolation_level=None)
    migrate(connection)
    broken = (*MIGRATIONS, ("CREATE TABLE extra (a)", "ALTER TABLE chats ADD COLUMN extra", "NONSENSE"))
    with pytest.raises(sqlite3.OperationalError):
        migrate(connection, broken)
    assert version(connection) == len(MIGRATIONS)
    assert connection.execute("SELECT count(*) FROM sqlite_master WHERE name = 'extra'").fetchone()[0] == 0
    migrate(connection, (*MIGRATIONS, ("ALTER TABLE chats ADD COLUMN extra",)))
    assert version(connection) == len(MIGRATIONS) + 1
    connection.close()


def test_a_locked_database_is_one_sentence(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another program holding the file is named, and nothing of the failed write stays."""
    monkeypatch.setattr("app.store.database.BUSY_SECONDS", 0.05)
    other = sqlite3.connect(store.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    store.database._local.connection.execute("PRAGMA busy_timeout = 50")
    with pytest.raises(StoreError, match="Another program"):
        store.chats.new()
    other.execute("ROLLBACK")
    other.close()
    assert store.chats.list() == []


def test_a_full_disk_is_one_sentence_and_the_rest_stays_readable(store: Store) -> None:
    """SQLite's own page limit stands in for the disk."""
    chat = store.chats.new("before")
    with store.database.read() as c:
        pages = c.execute("PRAGMA page_count").fetchone()[0]
        c.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StoreError, match="disk is full"):
        store.messages.add(chat.id, None, "user", "x" * 100_000)
    assert store.messages.path(chat.id) == []
    with store.database.read() as c:
        c.execute("PRAGMA max_page_count = 1000000")
    store.messages.add(chat.id, None, "user", "now it fits")


def test_every_error_is_one_sentence() -> None:
    """No SQLite jargon alone, no second line."""
    codes = [getattr(sqlite3, name) for name in dir(sqlite3) if name.startswith("SQLITE_") and name.isupper()]
    for code in (c for c in codes if isinstance(c, int)):
        error = sqlite3.OperationalError("some reason")
        error.sqlite_errorcode = code  # type: ignore[misc]
        text = str(translate(error, Path("folder/eyrie.db")))
        assert text.endswith(".")
        assert "\n" not in text


def test_a_folder_that_cannot_be_used_does_not_stop_the_start(tmp_path: Path) -> None:
    """The window opens anyway, with a store that says it will not last."""
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    with pytest.raises(StoreError, match="cannot be made"):
        Store(blocked)
    store = open_store(blocked)
    assert "lost when Eyrie closes" in store.notice
    store.chats.new("still works")
    store.close()


def test_a_closed_store_says_so(tmp_path: Path) -> None:
    """The worker may finish a round after the window has closed."""
    store = Store(tmp_path)
    store.close()
    with pytest.raises(StoreError, match="closed"):
        store.chats.list()


def test_opening_twice_shares_the_file(tmp_path: Path) -> None:
    """Two windows on one database see each other's chats."""
    one, two = Database(tmp_path / FILE), Store(tmp_path)
    chat = two.chats.new("seen")
    with one.read() as c:
        assert c.execute("SELECT title FROM chats WHERE id = ?", (chat.id,)).fetchone()["title"] == "seen"
    one.close()
    two.close()
    assert os.path.exists(tmp_path / FILE)
