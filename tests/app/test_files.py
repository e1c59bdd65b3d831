"""Files in and out with awkward input: what is dropped, where things are written, and one sentence for each fault."""

from __future__ import annotations

import gzip
import json
import os
import threading
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPoint, Qt, QThreadPool, QUrl
from PySide6.QtGui import QDropEvent
from PySide6.QtWidgets import QFileDialog, QWidget

from app import message_bar, trace_reader
from app.chat.files import file_name
from app.engine_link import EngineLink
from app.file_commands import OPENED, kind_of
from app.main_window import MainWindow
from app.save_dialog import ask_where
from app.store import open_store
from engine import Cancelled, Turn, trace_to_json
from tests.fake_engine import FakeEngine
from tests.fake_turn import fake_turn

CONVERSATION = {
    "format": "eyrie-conversation",
    "version": 1,
    "title": "Kept",
    "messages": [{"id": 1, "role": "user", "content": "hi"}],
}


@pytest.fixture
def window(qtbot, tmp_path):
    """A window whose model is loaded."""
    window = MainWindow(open_store(tmp_path / "data"), EngineLink(lambda: FakeEngine([fake_turn(1, rounds=4)])), [])
    qtbot.addWidget(window)
    window.show()
    window.start()
    qtbot.waitUntil(lambda: window.models.state == "ready" and not window.link.busy, timeout=15_000)
    yield window
    window.close()
    assert window.clean


def _drop(window: MainWindow, path: Path) -> None:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path))])
    left, none = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    window.dropEvent(QDropEvent(QPoint(600, 300), Qt.DropAction.CopyAction, data, left, none))


def _said(qtbot, window: MainWindow) -> str:
    messages = window.panels.messages
    qtbot.waitUntil(lambda: bool(messages.messages) and not window.link.busy)
    (message,) = messages.messages
    return message.text


WRONG = {
    "photo.png": b"\x89PNG\r\n" + bytes(range(256)),
    "notes.md": b"# Notes\n",
    "song.mp3": b"ID3\x04",
    "list.txt": b"one\ntwo\n",
}


@pytest.mark.parametrize("name", WRONG)
def test_a_file_of_another_kind_is_told_what_would_fit(qtbot, window, tmp_path, name):
    """Somebody who drops a photograph needs no parser's opinion of it."""
    path = tmp_path / name
    path.write_bytes(WRONG[name])
    _drop(window, path)
    assert _said(qtbot, window) == f"{name} cannot be opened: {OPENED}."


BROKEN = {
    "empty.json": b"",
    "half.json": json.dumps(CONVERSATION)[:-9].encode(),
    "run.json": trace_to_json(fake_turn(1, rounds=3))[:-40].encode(),
    "run.json.gz": gzip.compress(trace_to_json(fake_turn(1, rounds=3)).encode())[:-12],
    "noise.json": bytes(range(256)),
    "list.json": b"[1, 2]",
    "deep.json": b"[" * 100_000,
    "role.json": json.dumps({**CONVERSATION, "messages": [{"id": 1, "role": "system", "content": ""}]}).encode(),
    "later.json": json.dumps({**CONVERSATION, "version": 7}).encode(),
    "hot.json": json.dumps({**CONVERSATION, "sampling": {"temperature": "hot"}}).encode(),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_one_sentence_that_names_it(qtbot, window, tmp_path, name):
    """No traceback, no parser's words, nothing added, the chat still there."""
    path = tmp_path / name
    path.write_bytes(BROKEN[name])
    _drop(window, path)
    sentence = _said(qtbot, window)
    assert sentence.startswith(name)
    assert "\n" not in sentence
    assert "Expecting" not in sentence
    assert window.panels.messages.messages[0].detail is None
    assert len(window.store.chats.list()) == 1
    assert window.panels.page is window.panels.pane


@pytest.mark.skipif(os.name == "nt", reason="no pipes by name there")
def test_a_pipe_does_not_hold_the_engine(qtbot, window, tmp_path):
    """Opening one waits for its other end, for ever: every later chat would wait behind it."""
    pipe = tmp_path / "pipe.json"
    os.mkfifo(pipe)
    _drop(window, pipe)
    assert _said(qtbot, window) == f"pipe.json cannot be opened: {OPENED}."
    window.panels.messages.clear()
    window.files.open_trace(pipe)
    assert "pipe or a device" in _said(qtbot, window)
    window.panels.messages.clear()
    window.files.import_file(pipe)
    assert "is not a file" in _said(qtbot, window)


def test_what_a_dropped_file_is(tmp_path):
    """By its beginning, whatever its name; what is gone is left to the reader, who says so."""
    conversation, run = json.dumps(CONVERSATION).encode(), trace_to_json(fake_turn(1, rounds=2)).encode()
    for name, data, kind in (
        ("a.json", conversation, "conversation"),
        ("a.txt", b"\xef\xbb\xbf" + conversation, "conversation"),
        ("b.json", run, "recording"),
        ("b.txt", run, "recording"),
        ("b", run, "recording"),
        ("c.bin", gzip.compress(run), "recording"),
        ("d.GGUF", b"", "gguf"),
        ("e.pdf", b"%PDF", "other"),
    ):
        (tmp_path / name).write_bytes(data)
        assert kind_of(tmp_path / name) == kind, name
    assert kind_of(tmp_path) == "folder"
    assert kind_of(tmp_path / "gone.json") == "recording"


def test_an_imported_title_garbles_nothing(qtbot, window, tmp_path):
    """Line ends, control characters and marks of writing direction would reach every sentence it stands in."""
    path = tmp_path / "odd.json"
    title = "<b>One</b>\n\n\u202egnp.exe\x07 \u200btwo"
    path.write_text(json.dumps({**CONVERSATION, "title": title}))
    _drop(window, path)
    assert _said(qtbot, window) == "Imported “<b>One</b> gnp.exe \u200btwo”."
    assert window.store.chats.list()[0].title == "<b>One</b> gnp.exe \u200btwo"


@pytest.mark.parametrize("action", ["export_md", "export_json"])
def test_an_empty_conversation_can_be_exported(qtbot, window, tmp_path, monkeypatch, action):
    """There is nothing wrong with it; and an older file of that name is replaced whole."""
    path = tmp_path / f"empty.{action[7:]}"
    path.write_text("older" * 1000)
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(path), ""))
    window.actions_[action].trigger()
    assert _said(qtbot, window) == f"Saved {path}."
    assert "older" not in path.read_text()
    assert [p.name for p in tmp_path.iterdir() if p.is_file()] == [path.name]


@pytest.mark.parametrize("action", ["export_md", "export_json", "save_trace", "save_rounds", "tree_png", "tree_svg"])
def test_a_place_that_cannot_be_written_is_one_sentence(qtbot, window, tmp_path, monkeypatch, action):
    """As an error, which stays until it is read."""
    window.panels.pane.composer.set_text("Tell me")
    window.panels.pane.composer.send()
    qtbot.waitUntil(lambda: window.selection.count == 4 and not window.link.busy, timeout=8000)
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(tmp_path / "file" / "x"), ""))
    window.actions_[action].trigger()
    sentence = _said(qtbot, window)
    assert window.panels.messages.messages[0].kind == "error"
    assert "Not a directory" in sentence or "not a directory" in sentence
    assert "x." in sentence


def test_no_file_is_replaced_unasked(qapp, qtbot, tmp_path, monkeypatch):
    """The dialog warns of the name that was typed; with the extension added, another file may be meant."""
    (tmp_path / "run.json").write_text("precious")
    parent = QWidget()
    qtbot.addWidget(parent)
    asked = []
    answers = iter([tmp_path / "run", tmp_path / "run.json", tmp_path / "run", "", tmp_path / "other"])

    def dialog(_parent, _title, suggested, _kinds):
        asked.append(Path(suggested).name)
        return str(next(answers)), ""

    monkeypatch.setattr(QFileDialog, "getSaveFileName", dialog)
    ask = (parent, "Save", tmp_path / "trace.json", "", (".json", ".gz"))
    assert ask_where(*ask) == tmp_path / "run.json"  # the dialog asked about this very name
    assert ask_where(*ask) is None
    assert ask_where(*ask) == tmp_path / "other.json"
    assert asked == ["trace.json", "run.json", "trace.json", "run.json", "trace.json"]


def test_a_suggested_name_fits_every_file_system():
    """255 bytes with what is added while it is written; and nothing that turns or hides letters."""
    for title in ("日本語" * 60, "🦉" * 90, "a" * 500, "con:trol\x07 <b>?", "\u202e\n", ""):
        name = file_name(title, "json")
        assert len(name.encode()) < 200
        assert name.endswith(".json")
        assert len(name) > len(".json")
        assert "\u202e" not in name
        assert name.isprintable()


def test_reading_a_large_recording_is_said_and_can_be_cancelled(qtbot, window, tmp_path, monkeypatch):
    """128 MiB take many seconds: the window must go on, say what it does, and let go when asked."""
    ended, opened = [], []

    def endless(path: Path, cancel: threading.Event, between: object) -> None:
        assert cancel.wait(20)
        ended.append(threading.current_thread() is threading.main_thread())
        raise Cancelled("Stopped.")

    monkeypatch.setattr(trace_reader, "load_trace", endless)
    monkeypatch.setattr(trace_reader, "SAY_MS", 10)
    monkeypatch.setattr(message_bar, "STAY_MS", 50)
    window.files.trace_opened.connect(lambda *_: opened.append(1))
    window.files.problem.connect(opened.append)
    window.files.open_trace(tmp_path / "large.json")
    assert _said(qtbot, window) == "Reading large.json…"
    qtbot.wait(150)  # it does not leave by itself
    (message,) = window.panels.messages.messages
    message.buttons["Cancel"].click()
    qtbot.waitUntil(lambda: bool(ended))
    qtbot.wait(50)
    assert ended == [False]
    assert window.panels.messages.messages == []
    assert opened == []


def test_a_second_recording_takes_the_place_of_one_that_is_read(qtbot, window, tmp_path, monkeypatch):
    """The one asked for last is shown, and the other does not come after it."""
    names, turn = [], fake_turn(1, rounds=2)

    def load(path: Path, cancel: threading.Event, between: object) -> Turn:
        if path.name == "slow.json":
            cancel.wait(20)
        return turn

    monkeypatch.setattr(trace_reader, "load_trace", load)
    window.files.trace_opened.connect(lambda _, name: names.append(name))
    window.files.open_trace(tmp_path / "slow.json")
    window.files.open_trace(tmp_path / "fast.json")
    qtbot.waitUntil(lambda: bool(names))
    QThreadPool.globalInstance().waitForDone(10_000)
    qtbot.wait(50)
    assert names == ["fast"]
