"""Calls a function at most so many times a second: the first call at once, later ones together, the last never lost."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject

from app.own_turn import OwnTurn
from app.pace import Pace


class Throttle(QObject):
    """`throttle()` runs `call` now, or when the interval since the last run is over; `pace` may stretch it."""

    def __init__(self, call: Callable[[], object], interval_ms: int, parent: QObject, pace: Pace | None = None) -> None:
        super().__init__(parent)
        self._call = call
        self._interval, self._pace = interval_ms, pace
        self._wanted = False
        self._timer = OwnTurn(self, interval_ms)
        self._timer.due.connect(self._expired)

    def __call__(self) -> None:
        """Ask for a run."""
        if self._timer.isActive():
            self._wanted = True
        else:
            self._run()

    def set_interval(self, interval_ms: int) -> None:
        """Another limit, from the next run on."""
        self._interval = interval_ms

    def hold(self, most_ms: int) -> None:
        """As if it had just run: the next run comes after the interval, or after this time if that is shorter."""
        self._wanted = False
        self._timer.start(min(most_ms, self._wait()))

    def flush(self) -> None:
        """Run now if a run is waiting."""
        if self._wanted:
            self._timer.stop()
            self._run()

    def cancel(self) -> None:
        """Forget a waiting run."""
        self._wanted = False

    def _expired(self) -> None:
        if self._wanted:
            self._run()

    def _run(self) -> None:
        self._wanted = False
        self._timer.start(self._wait())
        self._call()

    def _wait(self) -> int:
        return self._pace.interval(self._interval) if self._pace else self._interval
