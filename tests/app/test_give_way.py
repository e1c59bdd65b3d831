"""The engine waits between two rounds for a main thread that works long, and for no other."""

from __future__ import annotations

import threading
import time

import pytest

import app.give_way
from app.engine_link import EngineLink
from app.give_way import GiveWay
from engine.config import SamplingConfig
from tests.app.link_help import HELLO, Ear, finish

needs_clock = pytest.mark.skipif(not hasattr(time, "pthread_getcpuclockid"), reason="the system does not say")


class Busy(threading.Thread):
    """Computes for some seconds of its own, once it is told to."""

    def __init__(self, seconds: float) -> None:
        super().__init__(daemon=True)
        self.seconds = seconds
        self.begin, self.half, self.over, self.leave = (threading.Event() for _ in range(4))

    def run(self) -> None:
        self.begin.wait()
        began = time.thread_time()
        while (used := time.thread_time() - began) < self.seconds:
            if used > self.seconds / 2:
                self.half.set()
        self.over.set()
        self.leave.wait()


@pytest.fixture
def busy():
    """A thread that works for 30 ms."""
    thread = Busy(0.03)
    thread.start()
    yield thread
    for event in (thread.begin, thread.leave):
        event.set()
    thread.join()


@needs_clock
def test_waits_until_the_work_is_over(busy, monkeypatch):
    """In the middle of something long: the pass that would share its processor begins after it."""
    monkeypatch.setattr(app.give_way, "MOST", 5.0)
    give_way = GiveWay(busy)
    busy.begin.set()
    busy.half.wait()
    assert give_way() > 0
    assert busy.over.is_set()


@needs_clock
def test_waits_no_longer_than_it_must(busy, monkeypatch):
    """Something that never ends does not hold the engine for good."""
    monkeypatch.setattr(app.give_way, "MOST", 0.01)
    busy.seconds = 5.0
    give_way = GiveWay(busy)
    busy.begin.set()
    time.sleep(0.05)
    assert 0.01 <= give_way() < 2.5
    assert not busy.over.is_set()
    busy.seconds = 0.0


@needs_clock
def test_does_not_sleep_for_a_thread_at_rest(busy, monkeypatch):
    """A sleep in each round would cost more than all that it is for."""
    monkeypatch.setattr(time, "sleep", lambda _: pytest.fail("slept"))
    give_way = GiveWay(busy)
    assert give_way() == 0
    assert give_way() == 0


@needs_clock
def test_work_that_is_over_costs_one_look(busy):
    """What was drawn during the round is done: one short look, and none after it."""
    give_way = GiveWay(busy)
    busy.begin.set()
    busy.over.wait()
    assert give_way() > 0
    assert give_way() == 0


def test_without_such_a_clock_it_never_waits(monkeypatch):
    """macOS and Windows have none."""
    monkeypatch.delattr(time, "pthread_getcpuclockid", raising=False)
    assert GiveWay()() == 0


@pytest.mark.parametrize(("spare", "asked"), [(False, 12), (True, 0)])
def test_asked_after_each_round_where_no_processor_is_spare(
    link: EngineLink, ear: Ear, qtbot, monkeypatch, spare, asked
):
    """A spare processor is the window's own: nothing to wait for."""
    calls: list[int] = []
    monkeypatch.setattr(GiveWay, "__call__", lambda self: calls.append(1) or 0.0)
    monkeypatch.setattr("app.turn_runner.spare", lambda threads: spare)
    finish(qtbot, ear, link.load("again"))
    finish(qtbot, ear, link.generate(HELLO, SamplingConfig()))
    assert len(calls) == asked
