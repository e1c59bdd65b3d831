"""Stop, steps and shutdown of the engine's thread seen from the window. Played by recordings."""

from __future__ import annotations

import math
import threading
import time
from dataclasses import replace

import pytest

from app.engine_link import EngineLink
from engine.config import SamplingConfig
from engine.trace import Phase, Prefill, Round, TurnStart
from tests.app.link_help import HELLO, Ear, Recorder, finish
from tests.fake_engine import long_turn


@pytest.mark.alone
@pytest.mark.parametrize("after", [TurnStart, Prefill, Round])
def test_stop_ends_the_turn_quickly(engine, link, ear, qtbot, after):
    """Stop stops the computation, whatever it is doing."""
    engine.speed = 0.02  # a round lasts almost a second
    if after is Round:
        engine.speed = 0.2
    elif after is Prefill:
        engine.turns[0].prefill = replace(engine.turns[0].prefill, ms=0.0)
    job = link.generate(HELLO, SamplingConfig())
    qtbot.waitUntil(lambda: after in ear.kinds(job), timeout=8000)
    began = time.perf_counter()
    link.stop(job)
    finish(qtbot, ear, job)
    assert time.perf_counter() - began < 0.3
    assert ear.events[job][-1].finish_reason == "cancelled"


@pytest.mark.alone
def test_stop_is_shown_at_once_however_slowly_the_window_listens(engine, link, ear, qtbot, monkeypatch):
    """While a reply streams, answers are read up to a quarter of a second late: too late for whoever pressed Stop."""
    monkeypatch.setattr("app.engine_link.SLOWEST_MS", 5000)
    monkeypatch.setattr(link.pace, "interval", lambda _: 5000)
    engine.speed = 0.2
    job = link.generate(HELLO, SamplingConfig())
    qtbot.waitUntil(lambda: link._timer.interval() == 5000)
    began = time.perf_counter()
    link.stop(job)
    finish(qtbot, ear, job)
    assert time.perf_counter() - began < 0.5


def test_stop_before_the_turn_began_cancels_it(engine, link, ear, qtbot):
    """Stop right after Send must not be forgotten because the engine had not started."""
    gate = threading.Event()
    link.run(lambda: gate.wait(5))
    recorder = Recorder()
    job = link.generate(HELLO, SamplingConfig(), recorder=recorder)
    link.stop(job)
    gate.set()
    finish(qtbot, ear, job)
    assert job not in ear.events
    assert recorder.closed == [("Stopped.", True)]
    assert ear.failures == [(job, "Stopped.", "", True)]


def test_next_turn_after_stop_runs_whole(engine, link, ear, qtbot):
    """A stale stop flag must not eat the next reply."""
    engine.speed = 0.2
    first = link.generate(HELLO, SamplingConfig())
    qtbot.waitUntil(lambda: bool(ear.rounds(first)), timeout=8000)
    link.stop()
    finish(qtbot, ear, first)
    engine.speed = math.inf
    second = link.generate(HELLO, SamplingConfig())
    finish(qtbot, ear, second)
    assert len(ear.rounds(second)) == 5
    assert ear.events[second][-1].finish_reason != "cancelled"


def test_stepping_waits_before_each_phase(engine, link, ear, qtbot):
    """One step, one phase: a teacher decides when the next picture comes."""
    link.set_stepping(True)
    job = link.generate(HELLO, SamplingConfig())
    qtbot.waitUntil(lambda: len(ear.phases(job)) == 1)
    qtbot.wait(120)
    assert [p.name for p in ear.phases(job)] == ["root"]
    link.step()
    qtbot.waitUntil(lambda: len(ear.phases(job)) == 2)
    qtbot.wait(60)
    assert [(p.name, p.level) for p in ear.phases(job)] == [("root", 0), ("level", 1)]
    assert not ear.rounds(job)
    link.step(to_round_end=True)
    qtbot.waitUntil(lambda: len(ear.rounds(job)) == 1)
    qtbot.waitUntil(lambda: ear.phases(job)[-1].round == 1)
    qtbot.wait(60)
    assert [p.name for p in ear.phases(job) if p.round == 1] == ["root"]
    link.set_stepping(False)
    finish(qtbot, ear, job)
    assert len(ear.rounds(job)) == 12


@pytest.mark.alone
def test_stop_while_stepping_is_immediate(link, ear, qtbot):
    """Nobody should have to step a round to its end to get out."""
    link.set_stepping(True)
    job = link.generate(HELLO, SamplingConfig())
    qtbot.waitUntil(lambda: bool(ear.phases(job)))
    began = time.perf_counter()
    link.stop(job)
    finish(qtbot, ear, job)
    assert time.perf_counter() - began < 0.3
    assert ear.events[job][-1].finish_reason == "cancelled"


@pytest.mark.alone
def test_cancel_a_download(engine, link, ear, qtbot):
    """Cancel works in the middle, and a retry starts afresh."""
    engine.installed, engine.fetch_seconds = False, 20
    job = link.get_model()
    qtbot.waitUntil(lambda: len(ear.progress) >= 2, timeout=5000)
    began = time.perf_counter()
    link.stop(job)
    finish(qtbot, ear, job)
    assert time.perf_counter() - began < 0.3
    assert ear.failures == [(job, "Stopped.", "", True)]
    engine.fetch_seconds = 0
    again = link.get_model()
    finish(qtbot, ear, again)
    assert len(ear.failures) == 1


@pytest.mark.alone
@pytest.mark.parametrize("stepping", [False, True])
def test_shutdown_during_a_turn_is_quick_and_clean(engine, qtbot, stepping):
    """Closing the window while it writes: under a second, last tasks done, nothing left running."""
    engine.speed = 0.05
    link = EngineLink(lambda: engine)
    ear, saved = Ear(link), []
    link.start()
    link.load("recorded")
    link.set_stepping(stepping)
    link.worker.at_close.append(lambda: saved.append("closed"))
    recorder = Recorder()
    recorder.close = lambda error, cancelled: saved.append("recorded")
    job = link.generate(HELLO, SamplingConfig(), recorder=recorder)
    wanted = Phase if stepping else TurnStart
    qtbot.waitUntil(lambda: wanted in ear.kinds(job), timeout=5000)
    link.run(lambda: saved.append("task"))
    began = time.perf_counter()
    assert link.shut_down()
    assert time.perf_counter() - began < 1
    assert not link.thread_.isRunning()
    assert sorted(saved) == ["closed", "recorded", "task"]
    assert saved[-1] == "closed"


def test_shutdown_while_the_window_is_stuck(engine, qtbot):
    """A full queue that nobody drains must not hold the thread."""
    engine.turns = [long_turn(engine.turns[0], 2000)]
    link = EngineLink(lambda: engine)
    link.start()
    link.load("recorded")
    link.generate(HELLO, SamplingConfig())
    time.sleep(0.5)  # no event loop: the queue fills
    assert link.shut_down()


def test_shutdown_without_start(engine, qapp):
    """The window may fail before it starts its engine."""
    assert EngineLink(lambda: engine).shut_down()
