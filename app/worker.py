"""The engine's thread: owns the model and the chat session, runs one job after the other, reports through a queue.

Lives on one QThread. Knows no widget. Only the methods under "from any thread" may be called from the window.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

from PySide6.QtCore import QObject, Qt, Signal, Slot

from app.engine_api import EngineApi, EngineLoader, LoadedModel, ModelInfo, Session
from app.jobs import Calibrate, Count, Generate, Job, Load, Recorder, Run, Start
from app.log import unexpected
from app.record_queue import RecordQueue
from app.reports import (
    Answered,
    Calibrated,
    Counted,
    Done,
    EngineReady,
    Failed,
    ModelReady,
    Progressed,
    Report,
    TurnEvent,
    Warned,
)
from app.store import StoreError
from engine import (
    Cancelled,
    EngineConfig,
    Event,
    EyrieError,
    ModelFolderError,
    Phase,
    Progress,
    ProgressCallback,
    Round,
    SamplingConfig,
    TurnStart,
)

PROGRESS_SECONDS = 0.08  # between two progress reports of one step


class EngineWorker(QObject):
    """Runs jobs in the order they came; `Count` and `Run` also between the events of a running job."""

    _wake = Signal()

    def __init__(self, reports: RecordQueue[Report], load_engine: EngineLoader) -> None:
        super().__init__()
        self._reports = reports
        self._load_engine = load_engine
        self._engine: EngineApi | None = None
        self._model: LoadedModel | None = None
        self._session: Session | None = None
        self._lock = threading.Lock()
        self._slow: deque[Job] = deque()
        self._quick: deque[Run] = deque()
        self._count: Count | None = None
        self._running: Job | None = None
        self._closing = threading.Event()
        self._granted = threading.Event()  # the next step of a stepped turn may be taken
        self._to_round_end = False
        self._config = EngineConfig()
        self._stepping = False
        self.at_close: list[Callable[[], None]] = []  # called in this thread when it ends
        self._wake.connect(self._work, Qt.ConnectionType.QueuedConnection)

    # From any thread.

    def post(self, job: Job) -> None:
        """Have a job done."""
        with self._lock:
            if isinstance(job, Count):
                self._count = job
            else:
                (self._quick if isinstance(job, Run) else self._slow).append(job)  # type: ignore[arg-type]
        self._wake.emit()

    def stop(self, number: int | None = None) -> None:
        """Cancel a job, running or waiting; all but `Run` when `number` is None."""
        with self._lock:
            running, session = self._running, self._session
            for job in (running, *self._slow):
                if job is not None and number in (None, job.number):
                    job.cancel.set()
        if isinstance(running, Generate) and running.cancel.is_set() and session is not None:
            session.stop()
        self._granted.set()

    def set_config(self, config: EngineConfig) -> None:
        """Use other settings from the next round on."""
        self._config = config
        session = self._session
        if session is not None:
            session.config = config

    def set_sampling(self, sampling: SamplingConfig) -> None:
        """Draw the tokens of the turn that runs or waits another way from the next round on."""
        with self._lock:
            for job in (self._running, *self._slow):
                if isinstance(job, Generate):
                    job.sampling = sampling
            if isinstance(self._running, Generate) and self._session is not None:
                self._session.sampling = sampling

    def set_stepping(self, stepping: bool) -> None:
        """Make the engine wait before each phase, or let it run."""
        self._stepping = stepping
        self._granted.clear()
        session = self._session
        if session is not None:
            session.stepping = stepping
        if not stepping:
            self._granted.set()

    def step(self, to_round_end: bool = False) -> None:
        """Let a waiting engine go one phase, or to the end of its round."""
        self._to_round_end = to_round_end
        self._granted.set()

    def close(self) -> None:
        """Stop everything and end the thread; what is in the quick queue is still done."""
        self._closing.set()
        self._reports.close()
        self.stop()
        self._wake.emit()

    # In the engine's thread.

    @Slot()
    def _work(self) -> None:
        while not self._closing.is_set():
            self._serve_quick()
            with self._lock:
                self._running = self._slow.popleft() if self._slow else None
            if self._running is None:
                return
            self._attempt(self._running, self._perform)
            with self._lock:
                self._running = None
        self._end()

    def _end(self) -> None:
        self._serve_quick()
        while self.at_close:
            call = self.at_close.pop(0)
            try:
                call()
            except Exception as error:
                unexpected(error, "closing")
        self._drop_model()
        self.thread().quit()

    def _attempt(self, job: Job, perform: Callable[[Any], None]) -> None:
        """Do a job; whatever happens becomes a report, and `Done` follows."""
        failure: Failed | None = None
        try:
            if job.cancel.is_set():
                raise Cancelled("Stopped.")
            perform(job)
        except Cancelled as error:
            failure = Failed(job.number, str(error), cancelled=True)
        except (EyrieError, StoreError) as error:
            failure = Failed(job.number, str(error))
        except Exception as error:
            failure = Failed(job.number, *unexpected(error, job.doing))
        if isinstance(job, Generate):
            why = (failure.sentence, failure.cancelled) if failure else ("", False)
            self._record(job, lambda recorder: recorder.close(*why))
        if failure is not None:
            self._reports.put(failure)
        self._reports.put(Done(job.number))

    def _perform(self, job: Job) -> None:
        match job:
            case Start():
                self._engine = self._load_engine()
                self._reports.put(self._engine_ready(self._engine))
            case Load():
                self._load(job)
            case Generate():
                self._generate(job)
            case Calibrate():
                self._calibrate()

    def _engine_ready(self, engine: EngineApi) -> EngineReady:
        catalog = tuple(getattr(engine, "CATALOG", ()))
        return EngineReady(engine.strategies(), tuple(engine.installed_models()), catalog)

    def _serve_quick(self) -> None:
        while True:
            with self._lock:
                task = self._quick.popleft() if self._quick else None
            if task is None:
                break
            self._attempt(task, self._call)
        with self._lock:
            count = self._count
            # Without a model there is nothing to count with: the request waits for one.
            if count is not None and (self._session is not None or self._closing.is_set()):
                self._count = None
            else:
                count = None
        if count is not None:
            self._attempt(count, self._answer_count)

    def _call(self, job: Run) -> None:
        self._reports.put(Answered(job.number, job.call()))

    def _answer_count(self, job: Count) -> None:
        if self._session is not None:
            self._reports.put(Counted(job.key, self._session.count_tokens(job.messages)))

    def _progress(self, job: Job) -> ProgressCallback:
        """A callback that reports a step when it changes, ends, or is a while old."""
        last_step, last_time = "", 0.0

        def report(progress: Progress) -> None:
            nonlocal last_step, last_time
            now = time.monotonic()
            ended = progress.total > 0 and progress.done >= progress.total
            if progress.step != last_step or ended or now - last_time >= PROGRESS_SECONDS:
                last_step, last_time = progress.step, now
                self._reports.put(Progressed(job.number, progress))
            self._serve_quick()

        return report

    def _load(self, job: Load) -> None:
        if self._engine is None:
            self._engine = self._load_engine()
        progress, folder = self._progress(job), job.folder
        if folder is None:
            names = () if job.name is None else (job.name,)
            folder = self._engine.ensure_model(*names, progress=progress, cancel=job.cancel)
        model = self._engine.Model.load(folder, progress=progress, cancel=job.cancel)
        self._drop_model()
        session = self._engine.ChatSession(model, self._config)
        session.stepping = self._stepping
        with self._lock:
            self._model, self._session = model, session
        self._reports.put(ModelReady(job.number, ModelInfo.of(model)))

    def _drop_model(self) -> None:
        with self._lock:
            model, self._model, self._session = self._model, None, None
        if model is not None:
            model.close()

    def _generate(self, job: Generate) -> None:
        session = self._session
        if session is None:
            raise ModelFolderError("There is no model yet: get one or open a model folder first.")
        session.config, session.stepping = self._config, self._stepping
        self._granted.clear()
        self._to_round_end = False
        events = session.generate(job.messages, job.sampling, prefix=job.prefix)
        try:
            for event in events:
                if isinstance(event, TurnStart):  # it may have changed since the turn was asked for
                    with self._lock:
                        session.sampling = job.sampling
                self._record(job, partial(_add, event))
                self._reports.put(TurnEvent(job.number, event))
                self._serve_quick()
                if isinstance(event, Round):
                    self._to_round_end = False
                elif isinstance(event, Phase):
                    self._wait_for_step(job, session)
                if job.cancel.is_set():
                    session.stop()
        finally:
            close = getattr(events, "close", None)
            if close is not None:
                close()

    def _record(self, job: Generate, call: Callable[[Recorder], None]) -> None:
        """Have the turn kept; if that fails the turn goes on, unkept, and the window hears of it once."""
        if job.recorder is None:
            return
        try:
            call(job.recorder)
        except (EyrieError, StoreError) as error:
            self._reports.put(Warned(job.number, str(error)))
            job.recorder = None
        except Exception as error:
            self._reports.put(Warned(job.number, *unexpected(error, "saving the reply")))
            job.recorder = None

    def _wait_for_step(self, job: Generate, session: Session) -> None:
        """Hold the engine until a step is granted, stepping ends, or the turn is stopped."""
        while session.stepping and not self._to_round_end and not job.cancel.is_set() and not self._closing.is_set():
            if self._granted.wait(0.05):
                self._granted.clear()
                return
            self._serve_quick()

    def _calibrate(self) -> None:
        measure = getattr(self._engine, "calibrate_plain", None)
        if self._model is None:
            self._reports.put(Calibrated(None, "no model is loaded"))
        elif measure is None:
            self._reports.put(Calibrated(None, "this engine does not measure it"))
        else:
            self._reports.put(Calibrated(float(measure(self._model))))


def _add(event: Event, recorder: Recorder) -> None:
    recorder.add(event)
