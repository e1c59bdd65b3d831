"""Updates until the plan is met or scores get no better: scored, logged and saved on the way, and gone on with.

Knows the folder of a run and when something is due; `trainer.py` knows how an update is made.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from time import monotonic

from engine import progress as steps
from engine.training import export
from engine.training.run_log import RunLog
from engine.training.trainer import Trainer

STATE, LOG, HEAD = "state.pt", "log.jsonl", "head"
_LOG_EVERY = 10  # updates


class TrainingLoop:
    """Runs a trainer in a folder, whose `HEAD` is the best head so far. `minutes`: between two saved states."""

    def __init__(
        self,
        trainer: Trainer,
        folder: Path,
        minutes: float,
        progress: steps.ProgressCallback,
        say: Callable[[str], None],
        cancel: threading.Event | None,
    ) -> None:
        self._trainer, self._folder, self._minutes = trainer, folder, minutes
        self._progress, self._say, self._cancel = progress, say, cancel
        self._log = RunLog(folder / LOG)

    def run(self) -> None:
        """From the saved state, if there is one, to the end. Raises `Cancelled` with the state saved, `ConfigError`."""
        trainer, state, saved = self._trainer, self._folder / STATE, monotonic()
        self._resume(state)
        plan = trainer.plan
        if not trainer.scored and (trainer.step == 0 or plan.scores_after(trainer.step)):
            self._score()
        if trainer.finished:
            return
        for update in trainer.updates():
            self._progress(steps.Progress("Training", update.step, plan.steps))
            if update.step % _LOG_EVERY == 0 or update.step == plan.steps:
                self._log.note_update(update)
            if plan.scores_after(update.step):
                trainer.save(state)  # a score takes a while and may be stopped
                self._score()
            stopping = self._cancel is not None and self._cancel.is_set()
            if stopping or trainer.finished or monotonic() - saved > 60 * self._minutes:
                trainer.save(state)
                saved = monotonic()
            steps.check(self._cancel)
            if trainer.finished:
                break

    def _resume(self, state: Path) -> None:
        if state.is_file():
            self._trainer.load(state)
            self._say(f"Continuing after update {self._trainer.step} of {self._trainer.plan.steps}.")
        self._log.cut(self._trainer.step)

    def _score(self) -> None:
        """Score the head on held-out conversations; write it out if it is the best so far."""
        trainer = self._trainer
        score = trainer.evaluate(self._cancel)
        better = trainer.note(score)
        if better:
            export.write_head(self._folder / HEAD, trainer.checkpoint())
        self._say(f"Update {trainer.step}: {score}{' (best)' if better else ''}")
        self._log.note_score(trainer.step, score)
