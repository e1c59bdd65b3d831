"""Records of replies read back from the store: whole, missing, or damaged, and what the window says of each."""

from __future__ import annotations

import zlib

import pytest

from app.chat.token_link import NO_RECORD
from app.engine_link import EngineLink
from app.main_window import MainWindow
from app.store import Store
from app.store.traces import DAMAGED
from tests.fake_engine import FakeEngine
from tests.fake_turn import fake_turn

DAMAGE = {
    "not compressed": b"\x01\x02",
    "cut": zlib.compress(b'{"format": "eyrie-trace"}')[:-3],
    "not a record": zlib.compress(b"[1, 2]"),
    "half a record": zlib.compress(b'{"format": "eyrie-trace", "version": 1}'),
    "nothing": b"",
}


@pytest.fixture
def chat(tmp_path):
    """A stored conversation; returns the id of its reply."""
    store = Store(tmp_path)
    prompt = store.messages.add(store.chats.new().id, None, "user", "Hello")
    reply = store.messages.add(prompt.chat, prompt.id, "assistant")
    store.messages.finish(reply.id, "Hi", "stop")
    store.traces.save(reply.id, "{}")
    store.close()
    return reply.id


def _open(qtbot, tmp_path, change: str, *values: object) -> MainWindow:
    store = Store(tmp_path)
    with store.database.write() as c:
        c.execute(change, values)
    window = MainWindow(store, EngineLink(lambda: FakeEngine([fake_turn(1)])), [])
    qtbot.addWidget(window)
    window.show()
    window.start()
    qtbot.waitUntil(lambda: window.models.state == "ready" and not window.link.busy, timeout=15_000)
    return window


@pytest.mark.parametrize("data", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_record_is_said_once(qtbot, tmp_path, chat, data):
    """The chat opens, the tree says nothing false, and whoever looks for the tokens reads why they are not there."""
    window = _open(qtbot, tmp_path, "UPDATE traces SET data = ?", data)
    qtbot.waitUntil(lambda: bool(window.panels.messages.messages))
    assert [m.text for m in window.panels.messages.messages] == [DAMAGED]
    assert window.selection.turn is None
    window.actions_["provenance"].trigger()
    qtbot.waitUntil(lambda: window.panels.pane.view.view_of(chat)._legend.text() == DAMAGED)
    window.close()


def test_no_record_is_no_error(qtbot, tmp_path, chat):
    """Old records leave to make room: that is said where tokens are asked for, and nowhere else."""
    window = _open(qtbot, tmp_path, "DELETE FROM traces")
    window.actions_["provenance"].trigger()
    qtbot.waitUntil(lambda: window.panels.pane.view.view_of(chat)._legend.text() == NO_RECORD)
    assert not window.panels.messages.messages
    window.close()
