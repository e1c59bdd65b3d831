"""What is written to the store beside the main thread: order, answers, errors, the end."""

from __future__ import annotations

import threading

import pytest

from app import writer
from app.store import BusyDatabaseError, StoreError
from app.writer import Writer


@pytest.fixture
def made(qapp):
    """A writer, closed after the test."""
    made = Writer()
    yield made
    assert made.close(5)


def test_all_is_done_in_order_in_one_other_thread(made, qtbot):
    """A name given after another one must be the one that stays; two threads could take each other's turn."""
    done, told = [], []

    def note(number: int) -> int:
        done.append((number, threading.get_ident()))
        return number

    for number in range(30):
        made.post(lambda n=number: note(n), "counting", told.append)
    qtbot.waitUntil(lambda: len(told) == 30)
    assert told == [number for number, _ in done] == list(range(30))
    (thread,) = {ident for _, ident in done}
    assert thread != threading.get_ident()


def test_a_quick_answer_comes_before_the_next_line(made):
    """Enter shows the message in the same turn of the event loop; answers before it come before it."""
    told = []
    made.post(lambda: "first", "saving", told.append)
    made.run(lambda: "second", "saving", told.append)
    assert told == ["first", "second"]


def test_a_slow_answer_comes_later_and_nobody_waits(made, qtbot, monkeypatch):
    """A disk that takes its time must not hold the window."""
    monkeypatch.setattr(writer, "PATIENCE", 0.01)
    go, told = threading.Event(), []
    made.run(lambda: go.wait(20), "saving", told.append)
    assert told == []
    go.set()
    qtbot.waitUntil(lambda: told == [True])


@pytest.mark.logs
def test_an_error_is_a_sentence_for_who_asked_or_for_the_window(made, qtbot, caplog):
    """What could not be saved is said, whoever forgot to listen; what follows is still done."""
    said, told = [], []
    made.failed.connect(lambda sentence, detail: said.append((sentence, bool(detail))))

    def full() -> None:
        raise StoreError("The disk is full.")

    made.post(full, "saving")
    made.post(lambda: 1 / 0, "saving a setting")
    made.run(full, "saving", told.append, lambda sentence: told.append(f"heard: {sentence}"))
    made.run(lambda: "fine", "saving", told.append)
    assert told == ["heard: The disk is full.", "fine"]
    assert said[0] == ("The disk is full.", False)
    assert said[1][0].startswith("Something unexpected went wrong while saving a setting")
    assert said[1][1]
    assert "ZeroDivisionError" in caplog.text


def test_the_end_waits_for_what_was_asked_for_but_not_for_ever(qapp):
    """The last words typed before closing are kept; a file that is held longer does not keep the window."""
    made, done, go = Writer(), [], threading.Event()
    made.post(lambda: done.append(go.wait(20)), "saving")
    made.post(lambda: done.append("last"), "saving")
    assert not made.close(0.05)
    go.set()
    assert made.close(5)
    assert done == [True, "last"]
    made.post(lambda: done.append("too late"), "saving")
    assert made.close(5)
    assert done == [True, "last"]


def test_what_another_program_stands_in_the_way_of_is_tried_until_the_end(qapp):
    """Whoever closes the window cannot try again: the last words were lost where the file was held for two seconds."""
    made, tries = Writer(), []

    def held() -> None:
        tries.append(len(tries))
        if len(tries) < 4:
            raise BusyDatabaseError("Another program is using chats.db: close it and try again.")

    made.post(held, "saving")
    assert made.close(5)
    assert len(tries) == 4


@pytest.mark.logs
def test_before_the_end_it_is_tried_once_and_said(made, qtbot):
    """While the window is open the words stay in their field, and whoever wrote them decides."""
    tries, said = [], []

    def held() -> None:
        tries.append(len(tries))
        raise BusyDatabaseError("Another program is using chats.db: close it and try again.")

    made.run(held, "saving", said.append, said.append)
    qtbot.waitUntil(lambda: len(said) == 1)
    assert len(tries) == 1
