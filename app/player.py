"""Plays the rounds of the shown turn, step by step, at the engine's own time stamps or slower.

A display setting: it moves the cursor and never touches the engine. Knows the selection and the steps of a round.
"""

from __future__ import annotations

from PySide6.QtCore import QObject, Qt, QTimer, Signal

from app.selection import Selection
from app.tree.stepper import Stepper
from engine import Round

PACES = {pace: f"{pace}× slower" if pace > 1 else "recorded pace" for pace in (1, 5, 20, 50, 100)}  # than the engine
STEPWISE = 5  # from this pace on the steps inside a round are shown, before that only its end
MIN_MS, WAIT_MS = 15, 100


class Player(QObject):
    """Moves from step to step and from round to round while `playing`.

    Signals:
        changed(): it started, stopped, or plays at another pace.

    Attributes:
        pace: how many times slower than the time stamps.
    """

    changed = Signal()

    def __init__(self, selection: Selection, stepper: Stepper, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._selection = selection
        self._stepper = stepper
        self.pace = 20
        self._expected = (-1, -1)  # round and step we set; anything else means that the user took over
        self._timer = QTimer(self, singleShot=True, timerType=Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._advance)
        selection.turn_changed.connect(self._other_turn)
        selection.round_changed.connect(self._moved)
        selection.live_changed.connect(self._live_changed)

    @property
    def playing(self) -> bool:
        """Whether it moves by itself."""
        return self._timer.isActive()

    def banner(self) -> str:
        """What to say while it plays: how slow, and how far behind the newest round."""
        if not self.playing:
            return ""
        behind = self._selection.count - 1 - self._selection.round_index
        slow = f"slowed {self.pace}×" if self.pace > 1 else "at the recorded speed"
        return f"Playing {slow}, round {self._selection.round_index + 1} of {self._selection.count}" + (
            f" ({behind} behind)" if behind > 0 and self._running() else ""
        )

    def set_pace(self, pace: int) -> None:
        """Play so many times slower than the engine ran."""
        if pace != self.pace:
            self.pace = pace
            if self.playing:
                self._schedule()
            self.changed.emit()

    def play(self) -> None:
        """From the shown round on; from the first when the last is shown and nothing follows."""
        if not self._selection.count:
            return
        at_end = self._selection.round_index >= self._selection.count - 1
        self._expected = (-1, -1)
        self._timer.start(0)  # playing from here on: moving the cursor must not stop it
        if at_end and not self._running():
            self._go(0)
        elif self.pace >= STEPWISE and not self._stepper.stepping:
            self._go(self._selection.round_index)
        self._schedule()
        self.changed.emit()

    def stop(self) -> None:
        """Stay where it is."""
        if self.playing:
            self._timer.stop()
            self.changed.emit()

    def _running(self) -> bool:
        turn = self._selection.turn
        return turn is not None and turn.end is None

    def _go(self, index: int) -> None:
        """Show a round: its first step when steps are shown, its end otherwise."""
        self._expected = (index, 0)
        self._selection.go(index)
        if self.pace >= STEPWISE:
            self._stepper.go(0)

    def _advance(self) -> None:
        shown, stepper = self._selection.current(), self._stepper
        if shown is None:
            self.stop()
            return
        if self.pace >= STEPWISE and stepper.index + 1 < len(stepper.steps):
            self._timer.start(WAIT_MS)
            stepper.go(stepper.index + 1)
        elif self._selection.round_index + 1 < self._selection.count:
            self._timer.start(WAIT_MS)
            self._go(self._selection.round_index + 1)
        elif self._running():
            self._timer.start(WAIT_MS)  # the engine is not there yet
            return
        else:
            self.stop()
            return
        self._schedule()
        self.changed.emit()

    def _schedule(self) -> None:
        shown = self._selection.current()
        if shown is not None:
            ms = self._step_ms(shown) if self.pace >= STEPWISE else shown.timings.total
            self._timer.start(max(MIN_MS, round(ms * self.pace)))

    def _step_ms(self, shown: Round) -> float:
        """Share of the round's time that the present step took, in milliseconds."""
        steps, index, times = self._stepper.steps, self._stepper.index, shown.timings
        if not steps:
            return times.total
        name = steps[index].name
        levels = sum(step.name == "level" for step in steps) or 1
        quick = sum(step.name in ("root", "prune", "accept") for step in steps) or 1
        return {"level": times.draft / levels, "verify": times.verify, "commit": times.commit}.get(
            name, times.host / quick
        )

    def _other_turn(self) -> None:
        self.stop()

    def _moved(self, index: int) -> None:
        if self.playing and self._expected[0] >= 0 and index != self._expected[0]:
            self.stop()

    def _live_changed(self, live: bool) -> None:
        if live:
            self.stop()
