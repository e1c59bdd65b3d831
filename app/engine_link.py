"""The window's end of the engine: posts jobs, drains reports on a timer, turns them into signals of the main thread.

Because reports travel through a queue that this object empties, every signal here is emitted in the main thread, and
anything may be connected to it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Qt, QThread, QTimer, Signal, Slot

from app import own_turn
from app.aside import STACK_BYTES
from app.engine_api import EngineLoader, ModelInfo, real_engine
from app.jobs import Calibrate, Count, Generate, Job, Load, Recorder, Run, Start
from app.pace import Pace
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
from app.worker import EngineWorker
from engine import EngineConfig, Event, SamplingConfig

BUSY_MS, IDLE_MS = 33, 150  # how often the queue is emptied; the first is stretched up to SLOWEST_MS
SLOWEST_MS = 240
STOPPING_MS = 10
REPORTS_PER_TICK = 64  # keeps one tick short when recordings are played as fast as possible

_abandoned: list[tuple[QThread, EngineWorker]] = []  # threads that did not end in time must not be collected


class EngineLink(QObject):
    """Commands to the engine and its answers.

    Signals:
        engine_ready(EngineReady): the engine is imported.
        progressed(int, Progress): a load or download moves on.
        model_ready(ModelInfo): a model is loaded.
        turn_events(int, list): events of a turn since the last tick, in order.
        counted(object, int): tokens of the prompt with that key.
        calibrated(object, str): milliseconds of a plain pass, or None and why not.
        answered(int, object): what a task posted with `run` returned.
        failed(int, str, str, bool): job, sentence, traceback or "", whether the user cancelled it.
        warned(str, str): sentence, traceback or "".
        done(int): a job is over.
        busy_changed(bool): a load, turn or measurement runs or waits, or none does.
    """

    engine_ready = Signal(object)
    progressed = Signal(int, object)
    model_ready = Signal(object)
    turn_events = Signal(int, list)
    counted = Signal(object, int)
    calibrated = Signal(object, str)
    answered = Signal(int, object)
    failed = Signal(int, str, str, bool)
    warned = Signal(str, str)
    done = Signal(int)
    busy_changed = Signal(bool)

    def __init__(self, load_engine: EngineLoader = real_engine, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.model: ModelInfo | None = None
        self.pace = Pace(self)
        self._numbers = itertools.count(1)
        self._open: set[int] = set()  # jobs not done yet
        self._stopping = False
        self._reports: RecordQueue[Report] = RecordQueue()
        self.thread_ = QThread(self)
        self.thread_.setObjectName("engine")
        self.thread_.setStackSize(STACK_BYTES)
        self.worker = EngineWorker(self._reports, load_engine)
        self.worker.moveToThread(self.thread_)
        self._timer = QTimer(self, interval=IDLE_MS, timerType=Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._look)

    def start(self) -> int:
        """Start the thread, if it does not run yet, and import the engine in it."""
        if not self.thread_.isRunning():
            self.thread_.start()
            self._timer.start()
        return self._post(Start(next(self._numbers), "starting the engine"))

    @property
    def busy(self) -> bool:
        """Whether a job runs or waits."""
        return bool(self._open)

    def load(self, folder: Path) -> int:
        """Load a model folder; returns the job's number."""
        return self._post(Load(next(self._numbers), "loading the model", folder=folder))

    def get_model(self, name: str | None = None) -> int:
        """Fetch, convert and load a model of the catalog, the default one when None."""
        return self._post(Load(next(self._numbers), "getting the model", name=name))

    def generate(
        self,
        messages: Sequence[Mapping[str, str]],
        sampling: SamplingConfig,
        *,
        prefix: str = "",
        recorder: Recorder | None = None,
    ) -> int:
        """Run a turn. `recorder` gets every event in the engine's thread, before the window does."""
        number = next(self._numbers)
        return self._post(
            Generate(
                number, "generating", messages=tuple(messages), sampling=sampling, prefix=prefix, recorder=recorder
            )
        )

    def count(self, messages: Sequence[Mapping[str, str]], key: Any) -> None:
        """Ask for the length of a prompt; a newer request replaces one that is not answered yet."""
        self.worker.post(Count(0, "counting tokens", messages=tuple(messages), key=key))

    def calibrate(self) -> int:
        """Measure a pass of plain decoding."""
        return self._post(Calibrate(next(self._numbers), "measuring plain decoding"))

    def run(self, call: Callable[[], Any], doing: str = "saving") -> int:
        """Call something short in the engine's thread, soon, even while a turn runs."""
        return self._post(Run(next(self._numbers), doing, call=call))

    def stop(self, job: int | None = None) -> None:
        """Cancel a job, or all; until the engine is idle its answers are read without delay."""
        self.worker.stop(job)
        if self.busy:
            self._stopping = True
            self._timer.start(STOPPING_MS)

    def set_config(self, config: EngineConfig) -> None:
        """Settings from the next round on."""
        self.worker.turns.set_config(config)

    def set_sampling(self, sampling: SamplingConfig) -> None:
        """How the running turn draws tokens from the next round on."""
        self.worker.turns.set_sampling(sampling)

    def set_stepping(self, stepping: bool) -> None:
        """Make the engine wait before each phase."""
        self.worker.turns.set_stepping(stepping)

    def step(self, to_round_end: bool = False) -> None:
        """Let a waiting engine go on by one phase, or to the end of the round."""
        self.worker.turns.step(to_round_end)

    def shut_down(self, timeout_ms: int = 3000) -> bool:
        """Stop the engine and end its thread; False when it did not end in time."""
        self._timer.stop()
        if not self.thread_.isRunning():
            return True
        self.worker.close()
        ended = self.thread_.wait(timeout_ms)
        if ended:
            self.drain(final=True)
        else:
            self.thread_.setParent(None)
            _abandoned.append((self.thread_, self.worker))
        return ended

    def _post(self, job: Job) -> int:
        was_busy = self.busy
        self._open.add(job.number)
        self.worker.post(job)
        self._timer.setInterval(BUSY_MS)
        if not was_busy:
            self.pace.set_busy(True)
            self.busy_changed.emit(True)
        return job.number

    @Slot()
    def drain(self, final: bool = False) -> None:
        """Turn what waits in the queue into signals."""
        batch: list[Event] = []
        batch_job = -1
        for report in self._reports.drain(None if final else REPORTS_PER_TICK):
            if isinstance(report, TurnEvent) and report.job == batch_job:
                batch.append(report.event)
                continue
            if batch:
                self.turn_events.emit(batch_job, batch)
                batch, batch_job = [], -1
            if isinstance(report, TurnEvent):
                batch, batch_job = [report.event], report.job
            else:
                self._tell(report)
        if batch:
            self.turn_events.emit(batch_job, batch)
        if final:
            return
        self.pace.look()
        slow = STOPPING_MS if self._stopping else min(self.pace.interval(BUSY_MS), SLOWEST_MS)
        self._timer.setInterval(slow if self.busy else IDLE_MS)

    def _look(self) -> None:
        """What else is dear should not come in the same turn as the records of many rounds."""
        with own_turn.counted():
            self.drain()

    def _tell(self, report: Report) -> None:
        match report:
            case EngineReady():
                self.engine_ready.emit(report)
            case Progressed(job, progress):
                self.progressed.emit(job, progress)
            case ModelReady(_, info):
                self.model = info
                self.pace.set_threads(info.threads)
                self.model_ready.emit(info)
            case Counted(key, tokens):
                self.counted.emit(key, tokens)
            case Calibrated(ms, reason):
                self.calibrated.emit(ms, reason)
            case Answered(job, value):
                self.answered.emit(job, value)
            case Failed(job, sentence, detail, cancelled):
                self.failed.emit(job, sentence, detail, cancelled)
            case Warned(_, sentence, detail):
                self.warned.emit(sentence, detail)
            case Done(job):
                self._finish(job)

    def _finish(self, job: int) -> None:
        if job in self._open:
            self._open.discard(job)
            self.done.emit(job)
            if not self.busy:
                self._stopping = False
                self.pace.set_busy(False)
                self.busy_changed.emit(False)
