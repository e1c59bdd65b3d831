"""Files in the whole window over a fake engine: saved, exported, dropped, imported."""

from __future__ import annotations

import threading

import pytest

from app import file_commands
from app.naps import Naps
from engine import load_trace
from tests.app.window_help import answer, drop, ended, send, shown_texts


def test_trace_saved_and_opened_again(window, tmp_path, monkeypatch, qtbot):
    """The file another person would get, extension added."""
    send(window)
    qtbot.waitUntil(lambda: ended(window), timeout=8000)
    turn = window.selection.turn
    answer(monkeypatch, "getSaveFileName", tmp_path / "mine")
    rests: list[str] = []
    monkeypatch.setattr(Naps, "__call__", lambda _: rests.append(threading.current_thread().name))
    window.actions_["save_trace"].trigger()
    qtbot.waitUntil((tmp_path / "mine.json").exists)
    assert len(rests) == len(turn.rounds)
    assert threading.main_thread().name not in rests
    assert load_trace(tmp_path / "mine.json") == turn
    answer(monkeypatch, "getOpenFileName", tmp_path / "mine.json")
    window.actions_["open_trace"].trigger()
    qtbot.waitUntil(lambda: window.panels.page is window.panels.recording)
    qtbot.waitUntil(window.panels.status.gain.isHidden)
    assert window.selection.turn == turn


@pytest.mark.parametrize(
    ("action", "name"), [("save_rounds", "r.csv"), ("tree_png", "t.png"), ("tree_svg", "t.svg"), ("export_md", "c.md")]
)
def test_exports_write_a_file(window, tmp_path, monkeypatch, qtbot, action, name):
    """Each leaves something that is not empty, and says where."""
    send(window)
    qtbot.waitUntil(lambda: ended(window), timeout=8000)
    answer(monkeypatch, "getSaveFileName", tmp_path / name)
    window.actions_[action].trigger()
    qtbot.waitUntil(lambda: (tmp_path / name).exists() and (tmp_path / name).stat().st_size > 50)
    qtbot.waitUntil(lambda: any("Saved" in m.text for m in window.panels.messages.messages))


@pytest.mark.parametrize("action", ["save_trace", "save_rounds", "tree_png"])
def test_exports_of_nothing_are_a_sentence(window, tmp_path, monkeypatch, action):
    """No dialog for nothing, no traceback."""
    answer(monkeypatch, "getSaveFileName", tmp_path / "x.png")
    window.actions_[action].trigger()
    assert len(window.panels.messages.messages) == 1
    assert not (tmp_path / "x.png").exists()


def test_dropped_recording_opens(window, traces, qtbot):
    """The quickest way to look at somebody else's run."""
    drop(window, traces[0])
    qtbot.waitUntil(lambda: window.panels.page is window.panels.recording)


@pytest.mark.parametrize("content", [b"", b"\x00\x01\x02", b"{}", b'{"a": 1}', "{…".encode()])
def test_dropped_nonsense_is_one_sentence(window, tmp_path, qtbot, content):
    """Any file can be dropped."""
    path = tmp_path / "odd.json"
    path.write_bytes(content)
    drop(window, path)
    qtbot.waitUntil(lambda: len(window.panels.messages.messages) == 1)
    (message,) = window.panels.messages.messages
    assert "odd.json" in message.text
    assert "\n" not in message.text
    assert window.panels.page is window.panels.pane


def test_dropped_conversation_is_imported(window, tmp_path, monkeypatch, qtbot):
    """Out as JSON, in again by dropping."""
    send(window, "Keep me")
    qtbot.waitUntil(lambda: ended(window), timeout=8000)
    answer(monkeypatch, "getSaveFileName", tmp_path / "chat.json")
    window.actions_["export_json"].trigger()
    qtbot.waitUntil((tmp_path / "chat.json").exists)
    before = window.panels.pane.chat
    drop(window, tmp_path / "chat.json")
    qtbot.waitUntil(lambda: window.panels.pane.chat != before)
    assert shown_texts(window)[0] == "Keep me"


def test_conversation_files_do_not_hold_the_window(window, tmp_path, monkeypatch, qtbot):
    """A file of many megabytes is read and written in the engine's thread."""
    threads = []

    def noted(call):
        def called(*args):
            threads.append(threading.get_ident())
            return call(*args)

        return called

    monkeypatch.setattr(file_commands, "import_chat", noted(file_commands.import_chat))
    monkeypatch.setattr(file_commands, "export_chat", noted(file_commands.export_chat))
    send(window)
    qtbot.waitUntil(lambda: ended(window), timeout=8000)
    answer(monkeypatch, "getSaveFileName", tmp_path / "chat")
    window.actions_["export_json"].trigger()
    qtbot.waitUntil((tmp_path / "chat.json").exists)
    answer(monkeypatch, "getOpenFileName", tmp_path / "chat.json")
    window.actions_["import_chat"].trigger()
    qtbot.waitUntil(lambda: len(window.store.chats.list()) == 2)
    assert len(threads) == 2
    assert threading.get_ident() not in threads
