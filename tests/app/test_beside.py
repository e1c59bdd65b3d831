"""Calls in other threads: answers come here, and no thread holds who waits for them."""

from __future__ import annotations

import gc
import threading
import weakref

from PySide6.QtCore import QThreadPool
from PySide6.QtWidgets import QLabel

from app.beside import Beside


def test_answers_come_in_the_main_thread(qtbot):
    """Widgets may be touched nowhere else; an exception is an answer, too."""
    beside, got = Beside(), []

    def note(value: object) -> None:
        got.append((str(value), threading.current_thread() is threading.main_thread()))

    beside.run(threading.get_ident, lambda ident: note(ident == threading.get_ident()), note)
    beside.run(lambda: 1 / 0, note, lambda error: note(type(error).__name__))
    qtbot.waitUntil(lambda: len(got) == 2)
    assert sorted(got) == [("False", True), ("ZeroDivisionError", True)]
    assert not beside._timer.isActive()


def test_no_thread_holds_who_waits(qtbot):
    """A window that closed while something was read was let go of by the other thread, and the program crashed."""
    go, label = threading.Event(), QLabel()
    beside = Beside(label)
    beside.run(lambda: go.wait(20), label.setText, label.setText)
    gone = weakref.ref(label)
    del label, beside
    gc.collect()
    assert gone() is None
    go.set()
    assert QThreadPool.globalInstance().waitForDone(20_000)
