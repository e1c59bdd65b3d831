"""Which step of which round is shown, and what Space does next. Knows records and the selection; no widgets."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from app.selection import Selection
from app.tree.phases import Step, steps
from engine.trace import Phase, Round

LAST = -1


class Stepper(QObject):
    """Walks the steps of the shown round, and on into the next one.

    Without stepping, a round is shown at its last step. The first Space goes to its root; after the last step the next
    Space goes to the root of the next round. A stepped engine's waiting phase takes precedence until it moves on.

    Signals:
        changed: another step, another round, or the engine waits elsewhere.
        engine_requested: Space while the engine waits: let it go on.

    Attributes:
        index: the present step of the shown round.
        stepping: the user walks the steps; otherwise the final state is shown.
        waiting: the phase at which a stepped engine waits, while the newest round is followed.
    """

    changed = Signal()
    engine_requested = Signal()

    def __init__(self, selection: Selection, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._selection = selection
        self.steps: tuple[Step, ...] = ()
        self.index = -1
        self.stepping = False
        self._phase: Phase | None = None
        self._shown: Round | None = None
        self._enter: int | None = None  # step at which the round that comes next is entered while walking
        selection.turn_changed.connect(self._turn_changed)
        selection.round_changed.connect(self._round_changed)
        selection.rounds_changed.connect(self._phase_over)
        selection.live_changed.connect(self._live_changed)
        self._round_changed()

    @property
    def step(self) -> Step | None:
        """The present step; None without a round."""
        return self.steps[self.index] if self.steps else None

    @property
    def waiting(self) -> Phase | None:
        """None while looking back: the engine's state must not push away what is being looked at."""
        return self._phase if self._selection.live else None

    def show_phase(self, phase: Phase | None) -> None:
        """A stepped engine waits here; None: it goes on. The round that it makes ends the waiting by itself."""
        if phase is not self._phase:
            self._phase = phase
            self.changed.emit()

    def go(self, index: int) -> None:
        """Show a step of the shown round and hold the view there."""
        if not self.steps:
            return
        self.stepping = True
        self.index = max(0, min(index, len(self.steps) - 1))
        self._selection.go(self._selection.round_index)
        self.changed.emit()

    def forward(self) -> None:
        """Next step; from the last one, the next round's root."""
        if self.waiting is not None:
            self.engine_requested.emit()
        elif not self.stepping:
            self.go(0)
        elif self.index + 1 < len(self.steps):
            self.go(self.index + 1)
        elif self._selection.round_index + 1 < self._selection.count:
            self._walk_to(self._selection.round_index + 1, 0)

    def back(self) -> None:
        """Step before; from the root, the last step of the round before."""
        if self.waiting is not None:
            return
        if self.index > 0:
            self.go(self.index - 1)
        elif self._selection.round_index > 0:
            self._walk_to(self._selection.round_index - 1, LAST)

    def _walk_to(self, index: int, step: int) -> None:
        self._enter = step
        self._selection.go(index)
        self._enter = None

    def _turn_changed(self) -> None:
        self._phase = None

    def _phase_over(self) -> None:
        if self._phase is not None and self._selection.count > self._phase.round:
            self._phase = None

    def _live_changed(self) -> None:
        if self._phase is not None:
            self.changed.emit()

    def _round_changed(self) -> None:
        self._phase_over()
        shown = self._selection.current()
        if shown is self._shown:
            return
        self._shown = shown
        self.steps = steps(shown) if shown else ()
        self.stepping = self._enter is not None
        self.index = self._enter if self._enter is not None and self._enter != LAST else len(self.steps) - 1
        self.changed.emit()
