"""The engine's thread: owns the model, does one job after the other, reports through a queue.

Lives on one QThread. Knows no widget, and of a turn only whether it ended well.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Qt, Signal, Slot

from app.aside import Call, run_aside
from app.engine_api import EngineApi, EngineLoader, LoadedModel, ModelInfo
from app.job_queue import JobQueue
from app.jobs import Calibrate, Count, Generate, Job, Load, Run, Start
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
    Warned,
)
from app.store import StoreError
from app.turn_runner import TurnRunner
from engine import Cancelled, EyrieError, Progress, ProgressCallback

PROGRESS_SECONDS = 0.08  # between two progress reports of one step
NOT_UPDATED = "The model could not be brought up to date and is used as it was."


class EngineWorker(QObject):
    """Does jobs in the order they came; `Count` and `Run` also between the events of a running job.

    Only the methods under "from any thread", here and in `turns`, may be called from the window.
    """

    _wake = Signal()

    def __init__(self, reports: RecordQueue[Report], load_engine: EngineLoader) -> None:
        super().__init__()
        self._reports = reports
        self._load_engine = load_engine
        self._engine: EngineApi | None = None
        self._model: LoadedModel | None = None
        self._jobs = JobQueue()
        self.turns = TurnRunner(self._jobs, reports)
        self.at_close: list[Callable[[], None]] = []  # called in this thread when it ends
        self._wake.connect(self._work, Qt.ConnectionType.QueuedConnection)

    # From any thread.

    def post(self, job: Job) -> None:
        """Have a job done."""
        self._jobs.post(job)
        self._wake.emit()

    def stop(self, number: int | None = None) -> None:
        """Cancel a job, running or waiting; all but `Run` when `number` is None."""
        self._jobs.cancel(number)
        self.turns.stop()

    def close(self) -> None:
        """Stop everything and end the thread; what is in the quick queue is still done."""
        self._jobs.close()
        self._reports.close()
        self.stop()
        self._wake.emit()

    # In the engine's thread.

    @Slot()
    def _work(self) -> None:
        while not self._jobs.closed:
            self._serve_quick()
            job = self._jobs.take()
            if job is None:
                return
            self._attempt(job, self._perform)
            self._jobs.finish()
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
            self.turns.close_record(job, *why)
        if failure is not None:
            self._reports.put(failure)
        self._reports.put(Done(job.number))

    def _perform(self, job: Job) -> None:
        match job:
            case Start():
                self._engine = self._aside(job, lambda progress, cancel: self._load_engine())
                self._reports.put(self._engine_ready(self._engine))
            case Load():
                self._load(job)
            case Generate():
                self.turns.run(job, self._serve_quick)
            case Calibrate():
                self._calibrate()

    def _engine_ready(self, engine: EngineApi) -> EngineReady:
        catalog = tuple(getattr(engine, "CATALOG", ()))
        return EngineReady(engine.strategies(), tuple(engine.installed_models()), catalog)

    def _serve_quick(self) -> None:
        while (task := self._jobs.take_run()) is not None:
            self._attempt(task, self._call)
        # Without a model there is nothing to count with: the request waits for one.
        if self.turns.session is not None or self._jobs.closed:
            count = self._jobs.take_count()
            if count is not None:
                self._attempt(count, self._answer_count)

    def _call(self, job: Run) -> None:
        self._reports.put(Answered(job.number, job.call()))

    def _answer_count(self, job: Count) -> None:
        session = self.turns.session
        if session is not None:
            self._reports.put(Counted(job.key, session.count_tokens(job.messages)))

    def _progress(self, job: Job) -> ProgressCallback:
        """A callback that reports a step when it changes, ends, or is a while old."""
        last_step, last_time = "", 0.0

        def report(progress: Progress) -> None:
            nonlocal last_step, last_time
            if progress.warning:
                self._reports.put(Warned(job.number, progress.warning))
                return
            now = time.monotonic()
            ended = progress.total > 0 and progress.done >= progress.total
            if progress.step != last_step or ended or now - last_time >= PROGRESS_SECONDS:
                last_step, last_time = progress.step, now
                self._reports.put(Progressed(job.number, progress))

        return report

    def _aside(self, job: Job, call: Call, may_leave: Callable[[], bool] = lambda: True) -> Any:
        """Call in another thread, and let go of it when the job is cancelled; what is quick is done meanwhile."""
        return run_aside(call, job.cancel, self._progress(job), self._serve_quick, may_leave=may_leave)

    def _load(self, job: Load) -> None:
        if self._engine is None:
            self._engine = self._aside(job, lambda progress, cancel: self._load_engine())
        engine, folder = self._engine, job.folder
        if folder is None:
            names = () if job.name is None else (job.name,)
            folder = self._aside(
                job, lambda progress, cancel: engine.ensure_model(*names, progress=progress, cancel=cancel)
            )
        else:
            folder = self._up_to_date(engine, folder, job)
        model = self._aside(job, lambda progress, cancel: engine.Model.load(folder, progress=progress, cancel=cancel))
        self._drop_model()
        self.turns.open(engine, model)
        self._model = model
        self._reports.put(ModelReady(job.number, ModelInfo.of(model)))

    def _up_to_date(self, engine: EngineApi, folder: Path, job: Load) -> Path:
        """The folder, or a newer one in its place; when that does not work, the one that is there must do."""
        writes = threading.Event()

        def update(progress: ProgressCallback, cancel: threading.Event) -> Path:
            def told(step: Progress) -> None:
                writes.set()
                progress(step)

            return engine.update_model(folder, progress=told, cancel=cancel)

        try:
            # Once it writes it is waited for: it may be about to change the folder that is loaded next
            return self._aside(job, update, may_leave=lambda: not writes.is_set() or self._jobs.closed)
        except Cancelled:
            if not writes.is_set() or self._jobs.closed:
                raise
            job.cancel.clear()
            why, detail = "That was stopped.", ""
        except EyrieError as error:
            why, detail = str(error), ""
        except Exception as error:
            why, detail = unexpected(error, "bringing the model up to date")
        self._reports.put(Warned(job.number, f"{NOT_UPDATED} {why}", detail))
        return folder

    def _drop_model(self) -> None:
        self.turns.close()
        model, self._model = self._model, None
        if model is not None:
            model.close()

    def _calibrate(self) -> None:
        measure = getattr(self._engine, "calibrate_plain", None)
        if self._model is None:
            self._reports.put(Calibrated(None, "no model is loaded"))
        elif measure is None:
            self._reports.put(Calibrated(None, "this engine does not measure it"))
        else:
            self._reports.put(Calibrated(float(measure(self._model))))
