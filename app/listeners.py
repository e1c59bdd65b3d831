"""Tells many about one change, a few per turn of the event loop: together they would hold the window. Knows no look."""

from __future__ import annotations

import inspect
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from PySide6.QtCore import QObject, Signal
from shiboken6 import isValid

from app.one_by_one import TURN_SECONDS
from app.own_turn import OwnTurn

Call = Callable[[], object]
FIRST_MS = 5  # so that the turn which lays out for another text size is one in which nobody is told
STEPS = 4  # steps are dear: behind one no other thing is begun in this turn unless it took less than such a part of it


class Listeners(QObject):
    """In place of a signal without arguments.

    The first are told at once, the others soon after, in the order in which they came. Whoever has too much to do for
    one turn is a generator: it goes on behind each `yield`, as a rule in the next turn. Methods do not keep their
    objects alive, and those whose object is gone are forgotten.

    Signals:
        ended(): all have heard of the last change; in a later turn than they.
    """

    ended = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._all: list[Callable[[], Call | None]] = []
        self._left: list[Callable[[], Call | None]] = []
        self._steps: tuple[Call, Iterator[object]] | None = None  # of the one that is being told
        self._timer = OwnTurn(self, 0)
        self._timer.due.connect(self._go_on)

    def connect(self, call: Call) -> None:  # type: ignore[override]
        """Tell this one too."""
        self._all.append(weakref.WeakMethod(call) if inspect.ismethod(call) else lambda: call)

    def disconnect(self, call: Call) -> None:  # type: ignore[override]
        """Tell it no more."""
        self._all = [known for known in self._all if known() != call]
        self._left = [known for known in self._left if known() != call]
        if self._steps is not None and self._steps[0] == call:
            self._steps = None

    def emit(self) -> None:
        """Tell all, from the first; whoever has not heard of an earlier change hears of this one only."""
        self._all = [known for known in self._all if _alive(known())]
        self._left, self._steps = list(self._all), None
        self._go_on()
        if self._left or self._steps is not None:
            self._timer.start(FIRST_MS)

    def _go_on(self) -> None:
        began = time.perf_counter()
        if not self._left and self._steps is None:
            self.ended.emit()
            return
        try:
            while self._steps is not None or self._left:
                most = TURN_SECONDS / STEPS if self._tell() else TURN_SECONDS
                if time.perf_counter() - began > most:
                    break
        finally:  # one that fails keeps nobody else from hearing
            self._timer.start(0)  # also when all have heard: what is drawn at the end is dear enough for its own turn

    def _tell(self) -> bool:
        """Tell the next one, or have one go on; whether it was a step of one that has much to do."""
        if self._steps is None:
            call = self._left.pop(0)()
            told = call() if call is not None and _alive(call) else None
            if not isinstance(told, Iterator):
                return False
            self._steps = (call, told)  # type: ignore[assignment]
        (call, steps), self._steps = self._steps, None  # type: ignore[misc]
        if _alive(call) and next(steps, steps) is not steps:
            self._steps = (call, steps)  # type: ignore[assignment]
        return True


def _alive(call: Any) -> bool:
    owner = getattr(call, "__self__", None)
    return call is not None and (not isinstance(owner, QObject) or isValid(owner))
