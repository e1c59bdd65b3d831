"""Turns in the engine's thread: each event is kept, then reported; settings act meanwhile; a stepped turn waits.

Holds the chat session. Knows neither how a model is loaded nor what else the thread has to do.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial

from app.engine_api import EngineApi, LoadedModel, Session
from app.give_way import GiveWay
from app.job_queue import JobQueue
from app.jobs import Generate, Recorder
from app.log import unexpected
from app.pace import spare
from app.record_queue import RecordQueue
from app.reports import Report, TurnEvent, Warned
from app.store import StoreError
from engine import EngineConfig, Event, EyrieError, ModelFolderError, Phase, Round, SamplingConfig, TurnStart


class TurnRunner:
    """Runs one turn after the other. Only the methods under "from any thread" may be called from the window."""

    def __init__(self, jobs: JobQueue, reports: RecordQueue[Report]) -> None:
        self.session: Session | None = None
        self._jobs = jobs
        self._reports = reports
        self._config = EngineConfig()
        self._stepping = False
        self._granted = threading.Event()  # the next step of a stepped turn may be taken
        self._to_round_end = False
        self._give_way: GiveWay | None = None  # where the engine has a thread on every processor

    # From any thread.

    def stop(self) -> None:
        """End the running turn if its job is cancelled, also where it waits for a step."""
        with self._jobs.lock:
            running, session = self._jobs.running, self.session
        if isinstance(running, Generate) and running.cancel.is_set() and session is not None:
            session.stop()
        self._granted.set()

    def set_config(self, config: EngineConfig) -> None:
        """Use other settings from the next round on."""
        self._config = config
        session = self.session
        if session is not None:
            session.config = config

    def set_sampling(self, sampling: SamplingConfig) -> None:
        """Draw the tokens of the turn that runs or waits another way from the next round on."""
        with self._jobs.lock:
            for job in self._jobs.turns():
                job.sampling = sampling
            if isinstance(self._jobs.running, Generate) and self.session is not None:
                self.session.sampling = sampling

    def set_stepping(self, stepping: bool) -> None:
        """Make the engine wait before each phase, or let it run."""
        self._stepping = stepping
        self._granted.clear()
        session = self.session
        if session is not None:
            session.stepping = stepping
        if not stepping:
            self._granted.set()

    def step(self, to_round_end: bool = False) -> None:
        """Let a waiting engine go one phase, or to the end of its round."""
        self._to_round_end = to_round_end
        self._granted.set()

    # In the engine's thread.

    def open(self, engine: EngineApi, model: LoadedModel) -> None:
        """Start a session with a model."""
        session: Session = engine.ChatSession(model, self._config)
        self._give_way = None if spare(getattr(model, "threads", 0)) else GiveWay()
        session.stepping = self._stepping
        with self._jobs.lock:
            self.session = session

    def close(self) -> None:
        """Forget the session; its model is about to be closed."""
        with self._jobs.lock:
            self.session = None

    def run(self, job: Generate, between: Callable[[], None]) -> None:
        """Run one turn; `between` is called after each event and while a step is awaited."""
        session = self.session
        if session is None:
            raise ModelFolderError("There is no model yet: get one or open a model folder first.")
        session.config, session.stepping = self._config, self._stepping
        self._granted.clear()
        self._to_round_end = False
        events = session.generate(job.messages, job.sampling, prefix=job.prefix)
        try:
            for event in events:
                if isinstance(event, TurnStart):  # it may have changed since the turn was asked for
                    with self._jobs.lock:
                        session.sampling = job.sampling
                self._record(job, partial(_add, event))
                self._reports.put(TurnEvent(job.number, event))
                between()
                if isinstance(event, Round):
                    self._to_round_end = False
                    if self._give_way is not None:
                        self._give_way()
                elif isinstance(event, Phase):
                    self._wait_for_step(job, session, between)
                if job.cancel.is_set():
                    session.stop()
        finally:
            close = getattr(events, "close", None)
            if close is not None:
                close()

    def close_record(self, job: Generate, error: str, cancelled: bool) -> None:
        """Nothing follows in this turn, whether it ran or not; both are empty when it ended by itself."""
        self._record(job, lambda recorder: recorder.close(error, cancelled))

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

    def _wait_for_step(self, job: Generate, session: Session, between: Callable[[], None]) -> None:
        """Hold the engine until a step is granted, stepping ends, or the turn is stopped."""
        while session.stepping and not (self._to_round_end or job.cancel.is_set() or self._jobs.closed):
            if self._granted.wait(0.05):
                self._granted.clear()
                return
            between()


def _add(event: Event, recorder: Recorder) -> None:
    recorder.add(event)
