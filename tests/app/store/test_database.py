import os
import random
import shutil
import sqlite3
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
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


@pytest.mark.alone
def test_a_locked_database_is_one_sentence(store: Store) -> None:
    """Another program holding the file is named, and nothing of the failed write stays."""
    other = sqlite3.connect(store.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    began = time.monotonic()
    with pytest.raises(StoreError, match="Another program"):
        store.chats.new()
    assert time.monotonic() - began < 1  # the window stands still meanwhile
    other.execute("ROLLBACK")
    other.close()
    assert store.chats.list() == []


@pytest.mark.alone
def test_a_running_reply_does_not_wait_for_a_locked_database(store: Store) -> None:
    """Two seconds of waiting per second of a reply made it three times slower; its words are in its own file."""
    reply = store.messages.add(store.chats.new().id, None, "assistant")
    other = sqlite3.connect(store.path, isolation_level=None)
    took: list[float] = []

    def save(text: str) -> None:
        began = time.monotonic()
        store.messages.save_progress(reply.id, text)
        took.append(time.monotonic() - began)

    other.execute("BEGIN IMMEDIATE")
    worker = threading.Thread(target=save, args=("first words",))  # every thread has a patience of its own
    worker.start()
    worker.join()
    assert store.messages.get(reply.id).content == ""
    other.execute("ROLLBACK")
    save("words")
    other.close()
    assert took[0] < 0.5
    assert store.messages.get(reply.id).content == "words"


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


@pytest.fixture
def protected() -> Iterator[Path]:
    """A folder with a chat in it that cannot be written, not even by the tests of an administrator."""
    folder = Path(tempfile.mkdtemp())
    store = Store(folder)
    store.chats.new("from before")
    keeper = sqlite3.connect(folder / FILE)  # keeps the log, as a killed program does
    keeper.execute("SELECT * FROM chats").fetchall()
    store.close()
    for path in folder.iterdir():
        path.chmod(0o444)
    folder.chmod(0o555)
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    yield folder
    if root:
        os.seteuid(0)
    keeper.close()
    folder.chmod(0o755)
    shutil.rmtree(folder)


@pytest.mark.skipif(sys.platform == "win32", reason="folders have no such protection there")
def test_a_write_protected_folder_shows_its_chats(protected: Path) -> None:
    """Chats that can be read must not look lost; one sentence says what will not last."""
    store = open_store(protected)
    assert [chat.title for chat in store.chats.list()] == ["from before"]
    assert "write-protected" in store.notice
    assert "lost when Eyrie closes" in store.notice
    store.chats.new("still works")
    copy = store.path.parent
    assert copy != protected
    store.close()
    assert not copy.exists()
    assert sorted(path.name for path in protected.iterdir())[0] == FILE


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
