"""What a training run writes down as it goes: a line of JSON now and then. Knows no tensor.

Of a run that was stopped, what came after the state it continues from is forgotten.
"""

from __future__ import annotations

import json
from pathlib import Path

from engine.training.score import Score
from engine.training.trainer import Update


class RunLog:
    """A log.jsonl: losses and speed of updates, and scores."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def note_update(self, update: Update) -> None:
        """Losses and accuracies by unrolled step, and tokens per second."""
        rate = update.tokens / max(update.seconds, 1e-9)
        self._append(
            {"step": update.step, "losses": update.losses, "training": update.score.accuracy, "tokens_per_s": rate}
        )

    def note_score(self, step: int, score: Score) -> None:
        """What the head is worth on held-out conversations after `step` updates."""
        self._append({"step": step, "tau": score.tau, "accuracy": score.accuracy})

    def cut(self, step: int) -> None:
        """Forget what was logged after an update; with 0, everything."""
        if self._path.is_file():
            kept = [line for line in self._path.read_text(encoding="utf-8").splitlines() if _step_of(line) <= step]
            kept = [line for line in kept if step or _step_of(line) > 0]
            self._path.write_text("".join(f"{line}\n" for line in kept), encoding="utf-8")

    def _append(self, values: dict[str, object]) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(values) + "\n")


def _step_of(line: str) -> int:
    try:
        return int(json.loads(line)["step"])
    except (ValueError, KeyError, TypeError):
        return -1
