"""The engine's thread seen from the window: order, threads, records, settings, errors. Played by recordings."""

from __future__ import annotations

import threading

import pytest

from app.engine_link import EngineLink
from engine.config import EngineConfig, SamplingConfig
from engine.errors import DownloadError
from engine.trace import Prefill, PrefillProgress, Round, Turn, TurnEnd, TurnStart
from tests.app.link_help import HELLO, Ear, Recorder, finish
from tests.fake_engine import FakeEngine, long_turn


def test_turn_arrives_whole_and_in_order(engine, link, ear, qtbot):
    """What the window holds must equal the recording, or every count on screen is wrong."""
    job = link.generate(HELLO, SamplingConfig())
    finish(qtbot, ear, job)
    played = Turn()
    for event in ear.events[job]:
        played.add(event)
    assert played == engine.turns[0]
    kinds = [k for k in ear.kinds(job) if k is not PrefillProgress]
    assert kinds == [TurnStart, Prefill, *[Round] * 12, TurnEnd]


def test_everything_reaches_the_main_thread(engine, link, ear, qtbot, qapp):
    """A widget touched from another thread crashes at random, later."""
    engine.installed = False
    jobs = [
        link.generate(HELLO, SamplingConfig()),
        link.get_model(),
        link.calibrate(),
        link.run(threading.get_ident),
    ]
    link.count(HELLO, "draft")
    for job in jobs:
        finish(qtbot, ear, job)
    qtbot.waitUntil(lambda: bool(ear.counts))
    engine.fetch_error, engine.installed = DownloadError("The network is gone."), False
    finish(qtbot, ear, link.get_model())
    assert ear.failures
    assert ear.progress
    assert ear.threads == {qapp.thread()}


def test_engine_runs_in_one_other_thread(engine, link, ear, qtbot):
    """Two sessions on two threads would corrupt the caches. Each load has a thread of its own, which ends with it."""
    jobs = [link.generate(HELLO, SamplingConfig()), link.load("again"), link.run(threading.get_ident)]
    for job in jobs:
        finish(qtbot, ear, job)
    assert engine.threads == {ear.answers[jobs[2]]}
    assert threading.get_ident() not in engine.threads | engine.loaders
    assert not engine.threads & engine.loaders


def test_long_turn_through_a_small_queue_loses_nothing(engine, link, ear, qtbot):
    """The engine may be faster than the window; then it waits."""
    engine.sessions[-1]._next = iter([long_turn(engine.turns[0], 900)])
    job = link.generate(HELLO, SamplingConfig())
    finish(qtbot, ear, job)
    assert [r.index for r in ear.rounds(job)] == list(range(900))


def test_recorder_hears_every_event_in_the_engine_thread(engine, link, ear, qtbot):
    """Saving happens in the worker, and a reply is closed once."""
    recorder = Recorder()
    job = link.generate(HELLO, SamplingConfig(), recorder=recorder)
    finish(qtbot, ear, job)
    assert recorder.heard == ear.events[job]
    assert recorder.threads == engine.threads
    assert recorder.closed == [("", False)]


def test_recorder_is_closed_with_the_reason(engine, link, ear, qtbot):
    """A failed reply must not look as if it were still running."""
    engine.generate_error = DownloadError("Broken.")
    recorder = Recorder()
    finish(qtbot, ear, link.generate(HELLO, SamplingConfig(), recorder=recorder))
    assert recorder.closed == [("Broken.", False)]


@pytest.mark.logs
def test_failing_recorder_does_not_end_the_reply(link, ear, qtbot):
    """A full disk must not cost the user the answer on the screen."""
    job = link.generate(HELLO, SamplingConfig(), recorder=Recorder(OSError("disk full")))
    finish(qtbot, ear, job)
    assert len(ear.rounds(job)) == 12
    assert len(ear.warnings) == 1
    assert "saving the reply" in ear.warnings[0]


def test_quick_tasks_run_during_a_turn(engine, link, ear, qtbot):
    """Renaming a chat or counting tokens must not wait for a long reply."""
    engine.speed = 0.3
    turn = link.generate(HELLO, SamplingConfig())
    qtbot.waitUntil(lambda: bool(ear.rounds(turn)), timeout=8000)
    task = link.run(lambda: "renamed")
    link.count(HELLO, 1)
    link.count(HELLO, 2)
    qtbot.waitUntil(lambda: task in ear.answers and bool(ear.counts), timeout=5000)
    assert turn not in ear.finished
    assert (2, 8) in ear.counts
    link.stop()
    finish(qtbot, ear, turn)


def test_settings_reach_a_running_session(engine, link, ear, qtbot):
    """A slider acts at the next round, not at the next turn."""
    engine.speed = 0.2
    job = link.generate(HELLO, SamplingConfig())
    qtbot.waitUntil(lambda: bool(ear.rounds(job)), timeout=8000)
    config = EngineConfig(eagle_topk=2, eagle_depth=7)
    link.set_config(config)
    assert engine.sessions[-1].config is config
    link.stop()
    finish(qtbot, ear, job)


def test_sampling_reaches_the_running_and_the_waiting_turn(engine, link, ear, qtbot):
    """A slider acts at the next round, also when it moved after Send and before the engine had time; no later turn."""
    engine.speed = 0.2
    warm, hot = SamplingConfig(temperature=0.5), SamplingConfig(temperature=1.5)
    running, waiting = link.generate(HELLO, warm), link.generate(HELLO, warm)
    qtbot.waitUntil(lambda: bool(ear.rounds(running)), timeout=8000)
    session = engine.sessions[-1]
    assert session.sampling is warm
    link.set_sampling(hot)
    assert session.sampling is hot
    link.stop(running)
    qtbot.waitUntil(lambda: bool(ear.rounds(waiting)), timeout=8000)
    assert session.sampling is hot
    link.stop()
    finish(qtbot, ear, waiting)
    link.set_sampling(warm)
    assert session.sampling is hot


def test_foreseen_error_is_its_own_sentence(engine, link, ear, qtbot):
    """The engine's sentences are written for the user; nothing is added."""
    engine.installed, engine.fetch_error = False, DownloadError("The server answered 503: try again later.")
    job = link.get_model()
    finish(qtbot, ear, job)
    assert ear.failures == [(job, "The server answered 503: try again later.", "", False)]


@pytest.mark.logs
def test_unforeseen_error_is_one_sentence_and_a_traceback(engine, link, ear, qtbot):
    """No traceback in the user's face, but one for the report."""
    engine.generate_error = ZeroDivisionError("float division")
    job = link.generate(HELLO, SamplingConfig())
    finish(qtbot, ear, job)
    (number, sentence, detail, cancelled) = ear.failures[0]
    assert (number, cancelled) == (job, False)
    assert "generating" in sentence
    assert "\n" not in sentence
    assert "ZeroDivisionError" in detail
    again = link.generate(HELLO, SamplingConfig())
    finish(qtbot, ear, again)
    assert ear.events[again][-1].finish_reason != "error"


def test_generate_without_a_model_says_so(engine, qtbot):
    """Possible when a load failed: the user needs to know what to do."""
    link = EngineLink(lambda: engine)
    ear = Ear(link)
    link.start()
    job = link.generate(HELLO, SamplingConfig())
    finish(qtbot, ear, job)
    assert "no model" in ear.failures[0][1]
    assert link.shut_down()


def test_calibration_and_its_absence(engine, link, ear, qtbot):
    """Without a measured plain pass the window must say why it shows no speed-up."""
    finish(qtbot, ear, link.calibrate())
    assert ear.plain == [(8.0, "")]

    class Old(FakeEngine):
        calibrate_plain = None

    other = EngineLink(lambda: Old(engine.turns))
    heard = Ear(other)
    other.start()
    finish(qtbot, heard, other.load("x"))
    finish(qtbot, heard, other.calibrate())
    assert heard.plain[0][0] is None
    assert heard.plain[0][1]
    assert other.shut_down()


def test_busy_follows_the_jobs(link, ear, qtbot):
    """Send turns into Stop and back by this."""
    states: list[bool] = []
    link.busy_changed.connect(states.append)
    finish(qtbot, ear, link.generate(HELLO, SamplingConfig()))
    assert states == [True, False]
