"""The engine's thread seen from the window: order, threads, stop, steps, errors, shutdown. Played by recordings."""

from __future__ import annotations

import math
import threading
import time
from dataclasses import replace

import pytest
from PySide6.QtCore import QObject, QThread, Slot

from app.engine_link import EngineLink
from engine.config import EngineConfig, SamplingConfig
from engine.errors import DownloadError
from engine.trace import Phase, Prefill, PrefillProgress, Round, Turn, TurnEnd, TurnStart
from tests.fake_engine import FakeEngine, long_turn
from tests.fake_turn import fake_turn

HELLO = [{"role": "user", "content": "Tell me a story"}]


class Recorder:
    """Keeps what it hears, and where it hears it; may fail."""

    def __init__(self, error: Exception | None = None) -> None:
        self.heard: list = []
        self.threads: set[int] = set()
        self.closed: list[str] = []
        self.error = error

    def add(self, event):
        self.threads.add(threading.get_ident())
        if self.error:
            raise self.error
        self.heard.append(event)

    def close(self, error, cancelled):
        self.threads.add(threading.get_ident())
        self.closed.append((error, cancelled))


class Ear(QObject):
    """Hears everything, and in which thread."""

    def __init__(self, link: EngineLink) -> None:
        super().__init__()
        self.events: dict[int, list] = {}
        self.failures: list[tuple[int, str, str, bool]] = []
        self.warnings: list[str] = []
        self.finished: list[int] = []
        self.counts: list[tuple[object, int]] = []
        self.answers: dict[int, object] = {}
        self.progress: list = []
        self.plain: list = []
        self.threads: set[QThread] = set()
        link.turn_events.connect(self.on_events)
        link.failed.connect(self.on_failed)
        link.warned.connect(self.on_warned)
        link.done.connect(self.on_done)
        link.counted.connect(self.on_counted)
        link.answered.connect(self.on_answered)
        link.progressed.connect(self.on_progress)
        link.calibrated.connect(self.on_calibrated)

    def _here(self) -> None:
        self.threads.add(QThread.currentThread())

    @Slot(int, list)
    def on_events(self, job, events):
        self._here()
        self.events.setdefault(job, []).extend(events)

    @Slot(int, str, str, bool)
    def on_failed(self, *args):
        self._here()
        self.failures.append(args)

    @Slot(str, str)
    def on_warned(self, sentence, detail):
        self._here()
        self.warnings.append(sentence)

    @Slot(int)
    def on_done(self, job):
        self._here()
        self.finished.append(job)

    @Slot(object, int)
    def on_counted(self, key, tokens):
        self._here()
        self.counts.append((key, tokens))

    @Slot(int, object)
    def on_answered(self, job, value):
        self._here()
        self.answers[job] = value

    @Slot(int, object)
    def on_progress(self, job, progress):
        self._here()
        self.progress.append(progress)

    @Slot(object, str)
    def on_calibrated(self, ms, reason):
        self._here()
        self.plain.append((ms, reason))

    def kinds(self, job: int) -> list[type]:
        return [type(e) for e in self.events.get(job, [])]

    def rounds(self, job: int) -> list[Round]:
        return [e for e in self.events.get(job, []) if isinstance(e, Round)]

    def phases(self, job: int) -> list[Phase]:
        return [e for e in self.events.get(job, []) if isinstance(e, Phase)]


@pytest.fixture
def engine():
    """Two recorded turns of 12 and 5 rounds."""
    return FakeEngine([fake_turn(1, rounds=12), fake_turn(2, rounds=5)])


@pytest.fixture
def link(engine, qtbot):
    """A started link with the model loaded."""
    link = EngineLink(lambda: engine)
    link.start()
    link.load("recorded")
    qtbot.waitUntil(lambda: link.model is not None and not link.busy)
    yield link
    assert link.shut_down()


@pytest.fixture
def ear(link):
    """Listens to the link."""
    return Ear(link)


def finish(qtbot, ear, job):
    """Wait until a job is over."""
    qtbot.waitUntil(lambda: job in ear.finished, timeout=5000)


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
    """Two sessions on two threads would corrupt the caches."""
    jobs = [link.generate(HELLO, SamplingConfig()), link.load("again"), link.run(threading.get_ident)]
    for job in jobs:
        finish(qtbot, ear, job)
    assert engine.threads == {ear.answers[jobs[2]]}
    assert threading.get_ident() not in engine.threads


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
