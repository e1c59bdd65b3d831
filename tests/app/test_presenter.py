"""Which turn the right side shows when a chat is opened, and what that costs."""

from __future__ import annotations

import pytest

from app.engine_link import EngineLink
from app.main_window import MainWindow
from app.store import Store
from engine import trace_to_json
from tests.app.window_help import ended, send
from tests.fake_engine import FakeEngine
from tests.fake_turn import fake_turn


@pytest.fixture
def store(tmp_path):
    """Two chats: in the first, the older of two replies has a record; in the second, none has."""
    store = Store(tmp_path)
    turn = fake_turn(1, rounds=6)
    for title, recorded in (("recorded", True), ("plain", False)):
        chat, parent = store.chats.new(title), None
        for n in range(2):
            parent = store.messages.add(chat.id, parent, "user", "q").id
            parent = store.messages.add(chat.id, parent, "assistant").id
            store.messages.finish(parent, turn.text, "stop")
            if recorded and n == 0:
                store.traces.save(parent, trace_to_json(turn))
    return store


def test_a_chat_brings_its_newest_rounds_and_is_read_once(qtbot, store, monkeypatch):
    """A chat of 500 messages takes long enough to read once, in the main thread."""
    window = MainWindow(store, EngineLink(lambda: FakeEngine([fake_turn(2)])), [])
    qtbot.addWidget(window)
    window.show()
    window.start()
    qtbot.waitUntil(lambda: window.models.state == "ready" and not window.link.busy, timeout=15_000)
    ids = {chat.title: chat.id for chat in store.chats.list()}
    read = []
    path = store.messages.path
    monkeypatch.setattr(store.messages, "path", lambda chat: read.append(chat) or path(chat))
    window.pages.open_chat(ids["recorded"])
    qtbot.waitUntil(lambda: window.selection.count == 6)
    assert read == [ids["recorded"]]
    window.pages.open_chat(ids["plain"])
    qtbot.waitUntil(lambda: window.selection.turn is None)
    assert read == [ids["recorded"], ids["plain"]]
    window.close()


def test_a_reply_shown_before_its_first_record_is_of_this_machine(qtbot, store):
    """A chat that was opened just before the prompt brings its rounds just after it: no speed-up was ever said then."""
    window = MainWindow(store, EngineLink(lambda: FakeEngine([fake_turn(2)])), [])
    qtbot.addWidget(window)
    window.show()
    window.start()
    qtbot.waitUntil(lambda: window.models.state == "ready" and not window.link.busy, timeout=15_000)
    send(window)
    window.presenter.show_chat(window.panels.pane.chat)
    assert window.selection.turn is window.turns.turn
    qtbot.waitUntil(lambda: ended(window), timeout=8000)
    assert window.panels.status.gain.text().endswith("× plain")
    window.close()
