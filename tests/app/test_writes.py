"""Who writes to the store: never the main thread; and what is seen and kept while another program holds the file."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable

import pytest
from PySide6.QtCore import QTimer

from app import main_window, writer
from app.chat.chat_rows import CHAT
from app.chat.pane import SAVING
from app.engine_link import EngineLink
from app.main_window import MainWindow
from app.record_limit import MB
from app.store import database, open_store
from app.store.database import Database
from app.watchdog import Watchdog
from tests.app.chat.chat_help import rows, view_of
from tests.app.window_help import ended, send

WINDOW = 0.015  # seconds of patience, as in the real window; other tests have more


@pytest.fixture(params=[0.0, 20.0], ids=["later", "at once"])
def patience(request, monkeypatch) -> None:
    """What follows a write comes in a later turn of the event loop, as on a slow disk, or in the same one."""
    monkeypatch.setattr(writer, "PATIENCE", request.param)


@pytest.fixture
def threads(patience, window, monkeypatch):
    """The threads in which something was written, an entry for each time. The main thread must not be among them."""
    seen: list[threading.Thread] = []
    for name in ("write", "write_now"):
        original = getattr(Database, name)

        def noted(self: Database, original=original):
            seen.append(threading.current_thread())
            return original(self)

        monkeypatch.setattr(Database, name, noted)
    said: list[str] = []
    with window.store.database.read() as mine:  # the main thread's connection
        mine.set_trace_callback(said.append)
    yield seen
    assert threading.main_thread() not in seen  # closing was seen too: it comes before this
    assert {words.split()[0].upper() for words in said} <= {"BEGIN", "COMMIT", "SELECT", "WITH"}
    assert not any("IMMEDIATE" in words for words in said)


@pytest.fixture
def lock(window):
    """Another program that holds the database for some seconds, or until what this returns is called (0)."""
    other = sqlite3.connect(window.store.path, isolation_level=None)

    def release() -> None:
        other.execute("ROLLBACK")

    def hold(seconds: float) -> Callable[[], None]:
        other.execute("BEGIN IMMEDIATE")
        if seconds:
            QTimer.singleShot(round(seconds * 1000), window, release)
        return release

    yield hold
    other.close()


def prompts(window) -> list[str]:
    """What was asked on the shown branch, as stored; [] while a reply is on its way."""
    path = window.store.messages.path(window.panels.pane.chat)
    whole = ended(window) and all(message.finished for message in path)
    return [m.content for m in path if m.role == "user"] if whole else []


def config(window) -> dict:
    """The stored settings of the engine."""
    return window.store.settings.get(f"config/{window.models.info.name}", {})


def test_messages_and_versions(window, threads, qtbot):
    """Send, send again, regenerate, edit, an earlier version, a hit in a branch that is not shown."""
    pane = window.panels.pane
    send(window, "First")
    qtbot.waitUntil(lambda: prompts(window) == ["First"], timeout=8000)
    assert pane.composer.text == ""
    send(window, "Second")
    qtbot.waitUntil(lambda: prompts(window) == ["First", "Second"], timeout=8000)
    window.actions_["regenerate"].trigger()
    qtbot.waitUntil(lambda: ended(window) and pane.path[-1].versions == 2 and pane.path[-1].finished, timeout=8000)
    pane.resend(pane.path[0].id, "Edited")
    qtbot.waitUntil(lambda: prompts(window) == ["Edited"] and len(pane.path) == 2, timeout=8000)
    edited = pane.path[0].id
    qtbot.waitUntil(lambda: pane.view.view_of(edited) is not None)
    view_of(pane, edited).header.previous_button.click()
    qtbot.waitUntil(lambda: prompts(window) == ["First", "Second"] and len(pane.path) == 4)
    window.panels.chats.hit_chosen.emit(pane.chat, edited, "edited")
    qtbot.waitUntil(lambda: prompts(window) == ["Edited"] and pane.path[0].id == edited)
    qtbot.waitUntil(lambda: pane.view.shown.ids() == [m.id for m in pane.path])
    assert len(threads) > 10


def test_the_list_of_chats(window, threads, qtbot):
    """New, rename, duplicate, delete, undo."""
    chats, pane, store = window.panels.chats, window.panels.pane, window.store.chats
    send(window, "First")
    qtbot.waitUntil(lambda: prompts(window) == ["First"], timeout=8000)
    first = pane.chat
    window.actions_["new_chat"].trigger()
    qtbot.waitUntil(lambda: pane.chat != first and chats.current == pane.chat)
    window.pages.open_chat(first)
    chats.select(first)
    chats.list.currentItem().setText("Renamed")
    qtbot.waitUntil(lambda: store.get(first).title == "Renamed")
    chats.duplicate()
    qtbot.waitUntil(lambda: chats.list.currentItem().text() == "Renamed (copy)")
    copy = pane.chat
    chats.delete()
    qtbot.waitUntil(lambda: chats.undo_bar.isVisible() and pane.chat != copy)
    chats.undo_delete()
    qtbot.waitUntil(lambda: pane.chat == copy)
    assert [row.text() for row in rows(chats)].count("Renamed (copy)") == 1
    assert len(threads) > 6


def test_settings_of_chat_engine_and_window(window, threads, qtbot):
    """System prompt, sampling, sliders, the bound of records, and the layout while the window closes."""
    pane, store = window.panels.pane, window.store
    pane.settings.prompt.setPlainText("Be brief.")
    pane.settings.fields["temperature"].set_value(0.25)
    window.panels.sliders.fields["eagle_depth"].number.setValue(3)
    window.record_limit.choose(1024 * MB)
    qtbot.waitUntil(lambda: store.chats.get(pane.chat).system_prompt == "Be brief.")
    qtbot.waitUntil(lambda: store.chats.get(pane.chat).sampling == {"temperature": 0.25})
    qtbot.waitUntil(lambda: config(window).get("eagle_depth") == 3)
    qtbot.waitUntil(lambda: store.traces.limit == 1024 * MB)
    count = len(threads)
    assert count >= 4
    window.close()
    assert len(threads) > count


@pytest.mark.alone
def test_a_file_that_another_program_holds_holds_no_window(window, lock, qtbot, monkeypatch):
    """It was up to 0.2 s for each write. All that was asked for meanwhile is there when the file is free again."""
    monkeypatch.setattr(writer, "PATIENCE", WINDOW)
    pane, chats, store = window.panels.pane, window.panels.chats, window.store
    send(window, "First")
    qtbot.waitUntil(lambda: prompts(window) == ["First"], timeout=8000)
    chat, dog = pane.chat, Watchdog()
    qtbot.wait(300)
    lock(1.0)
    dog.start()
    chats.list.currentItem().setText("Renamed")
    pane.settings.prompt.setPlainText("Be brief.")
    send(window, "Second")
    assert pane.composer.text == "Second"
    assert pane.composer._state.text() == SAVING
    pane.composer.input.insertPlainText("\nand a third")
    pane.send("twice")
    window.panels.sliders.fields["eagle_depth"].number.setValue(3)
    qtbot.wait(600)
    dog.stop()
    assert len(pane.view.shown.ids()) == 2
    held = [block for block in dog.blocks if "app/store" in block[1].replace("\\", "/") or "writer" in block[1]]
    assert held == [], dog.report()
    assert dog.longest_ms < 200, dog.report()
    qtbot.waitUntil(lambda: prompts(window) == ["First", "Second"], timeout=8000)
    assert pane.composer.text == "and a third"
    assert (store.chats.get(chat).title, store.chats.get(chat).system_prompt) == ("Renamed", "Be brief.")
    qtbot.waitUntil(lambda: config(window).get("eagle_depth") == 3)
    assert window.panels.messages.messages == []


def test_what_cannot_be_written_is_said_and_given_back(window, lock, qtbot, monkeypatch):
    """A file that stays held: the text stays in the field, the system prompt in its own, and the reason is said."""
    monkeypatch.setattr(writer, "PATIENCE", 0.0)
    pane, messages, chat = window.panels.pane, window.panels.messages, window.panels.pane.chat
    other = window.store.chats.new("Other").id
    window.panels.chats.refresh()
    release = lock(0)
    pane.settings.prompt.setPlainText("Be brief.")
    send(window, "Precious")
    qtbot.waitUntil(lambda: bool(messages.messages) and pane.composer.button.text() == "Send", timeout=8000)
    assert {m.text for m in messages.messages} == {"Another program is using eyrie.db: close it and try again."}
    assert pane.composer.text == "Precious"
    assert pane.composer.button.isEnabled()
    window.pages.open_chat(other)
    assert pane.settings.prompt.toPlainText() == ""
    window.pages.open_chat(chat)
    assert pane.settings.prompt.toPlainText() == "Be brief."
    assert pane.composer.text == "Precious"
    release()


def test_a_reply_is_made_in_its_chat_though_another_is_shown_when_its_prompt_is_stored(
    window, engine, lock, qtbot, monkeypatch
):
    """The file was held, and the user went on."""
    monkeypatch.setattr(writer, "PATIENCE", 0.0)
    pane, first = window.panels.pane, window.panels.pane.chat
    other = window.store.chats.new("Other").id
    window.panels.chats.refresh()
    lock(0.3)
    send(window, "Question")
    window.pages.open_chat(other)
    qtbot.waitUntil(lambda: len(window.store.messages.path(first)) == 2 and ended(window), timeout=8000)
    qtbot.waitUntil(lambda: window.store.messages.path(first)[-1].finished)
    assert engine.sessions[-1].asked == [[{"role": "user", "content": "Question"}]]
    assert (pane.chat, list(pane.path), pane.composer.text) == (other, [], "")
    window.pages.open_chat(first)
    assert pane.composer.text == ""
    assert [m.content for m in pane.path] == ["Question", engine.turns[0].text]


def test_a_chat_deleted_twice_before_it_is_gone_comes_back_once(window, lock, qtbot, monkeypatch):
    """The key was pressed again because nothing happened."""
    monkeypatch.setattr(writer, "PATIENCE", 0.0)
    chats, chat = window.panels.chats, window.panels.pane.chat
    lock(0.3)
    chats.delete()
    chats.delete()
    qtbot.waitUntil(lambda: chats.undo_bar.isVisible() and window.panels.pane.chat not in (0, chat))
    chats.undo_delete()
    chats.undo_delete()
    qtbot.waitUntil(lambda: chats.current == chat and chats.undo_bar.isHidden())
    assert [row.data(CHAT) for row in rows(chats)].count(chat) == 1


def test_stop_while_a_prompt_waits_to_be_stored_stops_its_reply(window, engine, lock, qtbot, monkeypatch):
    """The button says Stop from the moment something was sent."""
    monkeypatch.setattr(writer, "PATIENCE", 0.0)
    engine.speed = 0.1
    lock(0.3)
    send(window, "Question")
    window.panels.pane.composer.button.click()
    qtbot.waitUntil(lambda: bool(window.panels.pane.path) and ended(window), timeout=3000)
    assert window.panels.pane.path[-1].finish_reason == "cancelled"


def test_closing_writes_what_is_asked_for(make, engine, qtbot, tmp_path, monkeypatch):
    """The last keys before closing, and a file that is held longer than one attempt takes."""
    monkeypatch.setattr(writer, "PATIENCE", 0.0)
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.1)
    window = make(engine)
    qtbot.waitUntil(lambda: window.models.state == "ready" and window.panels.pane.chat > 0, timeout=5000)
    chat = window.panels.pane.chat
    other = sqlite3.connect(window.store.path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    window.panels.pane.settings.prompt.setPlainText("Be brief.")
    send(window, "Question")
    release = threading.Timer(0.6, lambda: other.execute("ROLLBACK"))
    release.start()
    window.close()
    release.join()
    other.close()
    assert window.clean
    again = make(engine)
    assert again.store.chats.get(chat).system_prompt == "Be brief."
    assert [m.content for m in again.store.messages.path(chat)] == ["Question", ""]


@pytest.mark.alone
def test_a_file_that_stays_held_keeps_no_program_open(engine, qtbot, tmp_path, monkeypatch):
    """What cannot be written in the end is not; the window goes at once, and the program ends all the same."""
    monkeypatch.setattr(main_window, "WRITE_SECONDS", 1.0)
    window = MainWindow(open_store(tmp_path / "data"), EngineLink(lambda: engine), [])
    qtbot.addWidget(window)
    window.show()
    other = sqlite3.connect(window.store.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    began = time.monotonic()
    window.close()
    assert 0.9 < time.monotonic() - began < 1.5
    assert not window.clean
    other.execute("ROLLBACK")
    other.close()
    assert window.writer.close(5)
    window.store.close()
