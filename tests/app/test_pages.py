"""How a page is opened: what is done in which turn of the event loop."""

from __future__ import annotations

from itertools import pairwise

import pytest
from PySide6.QtCore import QTimer

from tests.app.window_help import ended, send
from tests.fake_turn import fake_turn


@pytest.fixture
def turns(window, monkeypatch):
    """What was done, with "turn" where a turn of the event loop ended."""
    done: list[str] = []

    def spy(owner, name, word):
        call = getattr(owner, name)
        monkeypatch.setattr(owner, name, lambda *a, **k: done.append(word) or call(*a, **k))

    spy(window.store.messages, "path", "read")
    spy(window.panels.pane.view, "set_messages", "messages")
    window.selection.turn_changed.connect(lambda _: done.append("rounds"))
    beat = QTimer(window, interval=0)
    beat.timeout.connect(lambda: done.append("turn"))
    beat.start()
    yield done
    beat.stop()


def apart(done: list[str], *words: str) -> bool:
    """Whether these came once each, in this order, with the end of a turn between any two."""
    places = [n for n, word in enumerate(done) if word != "turn"]
    between = all("turn" in done[a:b] for a, b in pairwise(places))
    return [done[n] for n in places] == list(words) and between


def test_a_chat_is_read_shown_and_followed_by_its_rounds_in_three_turns(window, turns, qtbot):
    """In one turn with a picture of the window it was 60 ms for a chat of 500 messages."""
    send(window)
    qtbot.waitUntil(lambda: ended(window), timeout=8000)
    first = window.panels.pane.chat
    window.pages.new_chat()
    qtbot.waitUntil(lambda: window.selection.turn is None)
    turns.clear()
    window.pages.open_chat(first)
    assert turns == ["read"]
    assert window.panels.pane.chat == first
    qtbot.waitUntil(lambda: "rounds" in turns)
    assert apart(turns, "read", "messages", "rounds")


def test_words_found_in_a_chat_are_marked_in_a_turn_of_their_own(window, turns, qtbot):
    """Finding them goes through all messages, and to another place than where the chat was opened."""
    send(window, "Where is the needle?")
    qtbot.waitUntil(lambda: ended(window), timeout=8000)
    hit = window.store.chats.search("needle")[-1]
    window.pages.new_chat()
    qtbot.waitUntil(lambda: window.selection.turn is None)
    window.panels.pane.view.find_bar.changed.connect(lambda _: turns.append("found"))
    turns.clear()
    window.pages.open_chat(hit.chat, hit.message, "needle")
    qtbot.waitUntil(lambda: "rounds" in turns)
    assert apart(turns, "read", "messages", "found", "rounds")


def test_the_list_is_read_once_and_later_when_a_reply_begins_or_ends(window, engine, monkeypatch, qtbot):
    """It was read at once, and again because a row that began to run was taken for renamed: 20 ms of hundreds."""
    engine.speed = 0.3  # or the end comes before the list is read
    reads: list[str] = []
    read = window.store.chats.list
    monkeypatch.setattr(window.store.chats, "list", lambda: reads.append("") or read())
    send(window)
    assert reads == []
    qtbot.waitUntil(lambda: reads == [""])
    qtbot.waitUntil(lambda: ended(window), timeout=8000)
    qtbot.waitUntil(lambda: len(reads) == 2)
    qtbot.wait(100)
    assert len(reads) == 2
    assert window.panels.chats.list.count() == 1


def test_a_recording_brings_its_rounds_in_a_later_turn(window, turns, qtbot):
    """Its words and its tree are as dear as each other."""
    window.pages.show_recording(fake_turn(3), "A recorded run")
    assert window.panels.page is window.panels.recording
    assert "rounds" not in turns
    qtbot.waitUntil(lambda: "rounds" in turns)
    assert "turn" in turns


def test_a_chat_left_at_once_does_not_come_back(window, turns, qtbot):
    """Arrow keys go through the list faster than chats are shown: only the last one is."""
    send(window)
    qtbot.waitUntil(lambda: ended(window), timeout=8000)
    first = window.panels.pane.chat
    other = window.store.chats.new("Other").id
    window.pages.open_chat(other)
    qtbot.waitUntil(lambda: window.selection.turn is None)
    window.pages.open_chat(first)
    window.pages.open_chat(other)
    turns.clear()
    qtbot.waitUntil(lambda: "messages" in turns)
    qtbot.wait(80)
    assert turns.count("messages") == 1
    assert window.panels.pane.view.shown.ids() == []
    assert window.selection.turn is None
