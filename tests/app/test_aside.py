"""A long call beside the engine's thread: its result and steps come back; one that was left can touch nothing."""

from __future__ import annotations

import threading
import time
from types import SimpleNamespace

import pytest

from app import aside
from app.aside import left_behind, run_aside
from engine import Cancelled, EyrieError, Progress


@pytest.fixture
def gate():
    """Opens at the end of the test, whatever happened: a thread that waits for it must not outlive the test."""
    gate = threading.Event()
    yield gate
    gate.set()
    assert not left_behind(5)


def nothing(*_):
    """Neither a step nor anything between."""


def press(cancel, seconds=0.05):
    """Set `cancel` a little later; the answer is when that was."""
    pressed = []

    def later():
        time.sleep(seconds)
        pressed.append(time.perf_counter())
        cancel.set()

    threading.Thread(target=later).start()
    return pressed


def test_the_result_comes_back_from_another_thread():
    """Nothing changes for whoever waits."""
    here = threading.get_ident()
    result, there = run_aside(lambda progress, cancel: (7, threading.get_ident()), threading.Event(), nothing, nothing)
    assert result == 7
    assert there != here


def test_an_error_comes_back_as_it_is():
    """The engine's sentences are for the user."""

    def fail(progress, cancel):
        raise EyrieError("The folder is damaged.")

    with pytest.raises(EyrieError, match="The folder is damaged"):
        run_aside(fail, threading.Event(), nothing, nothing)


def test_steps_and_what_is_quick_come_in_the_waiting_thread():
    """Both touch the store or the queue to the window, which have one writer."""
    told, threads = [], set()

    def work(progress, cancel):
        for done in range(3):
            progress(Progress("Loading", done, 2))
            time.sleep(0.03)

    def hear(step):
        told.append(step.done)
        threads.add(threading.get_ident())

    run_aside(work, threading.Event(), hear, lambda: threads.add(threading.get_ident()))
    assert told == [0, 1, 2]
    assert threads == {threading.get_ident()}


def test_stop_does_not_wait_for_a_call_that_hears_nothing(gate):
    """What ONNX Runtime and the tokenizer do cannot be interrupted."""
    cancel = threading.Event()
    pressed = press(cancel)
    with pytest.raises(Cancelled):
        run_aside(lambda progress, own: gate.wait(20), cancel, nothing, nothing)
    assert time.perf_counter() - pressed[0] < 0.15


def test_what_was_left_tells_nothing_and_is_closed_by_itself(gate):
    """It must not look like the load that followed it, nor keep its memory."""
    cancel, closed, told = threading.Event(), threading.Event(), []

    def work(progress, own):
        gate.wait(20)
        progress(Progress("Loading", 1, 2))
        return SimpleNamespace(close=closed.set)

    press(cancel)
    with pytest.raises(Cancelled):
        run_aside(work, cancel, told.append, nothing)
    gate.set()
    assert closed.wait(5)
    assert told == []


def test_what_was_left_stays_cancelled_when_the_job_goes_on(gate):
    """A job may go on without the update that was stopped: that update must not come to life again."""
    cancel, seen = threading.Event(), []

    def work(progress, own):
        gate.wait(20)
        seen.append(own.is_set())

    press(cancel)
    with pytest.raises(Cancelled):
        run_aside(work, cancel, nothing, nothing)
    cancel.clear()
    gate.set()
    assert not left_behind(5)
    assert seen == [True]


def test_a_call_that_may_not_be_left_is_waited_for():
    """It is about to change the files that are read next."""
    cancel, ended = threading.Event(), []

    def work(progress, own):
        own.wait(20)
        time.sleep(0.1)
        ended.append(True)
        return "written"

    press(cancel)
    assert run_aside(work, cancel, nothing, nothing, may_leave=lambda: False) == "written"
    assert ended


def test_nothing_begins_once_cancelled():
    """Stop between two steps of a job."""
    cancel, began = threading.Event(), []
    cancel.set()
    with pytest.raises(Cancelled):
        run_aside(lambda progress, own: began.append(1), cancel, nothing, nothing)
    assert not began


def test_a_result_that_came_with_stop_is_taken_or_closed_never_lost():
    """Both may happen in the same moment, and half a gigabyte would stay."""
    for _ in range(200):
        cancel, closed, go = threading.Event(), [], threading.Event()
        began = threading.Event()

        def work(progress, own, go=go, closed=closed, began=began):
            began.set()
            go.wait(5)
            return SimpleNamespace(close=lambda: closed.append(1))

        def both(go=go, cancel=cancel, began=began):
            began.wait(5)
            cancel.set()
            go.set()

        threading.Thread(target=both).start()
        try:
            taken = run_aside(work, cancel, nothing, nothing) is not None
        except Cancelled:
            taken = False
        assert not left_behind(5)
        assert taken != bool(closed)
    assert not any(thread.is_alive() for thread in aside._left)
