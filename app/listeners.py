"""Tells many about one change, a few per turn of the event loop: together they would hold the window. Knows no look."""

from __future__ import annotations

import inspect
import time
import weakref
from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QObject, QTimer, Signal
from shiboken6 import isValid

from app.one_by_one import TURN_SECONDS

Call = Callable[[], object]


class Listeners(QObject):
    """In place of a signal without arguments.

    The first are told at once, the others soon after, in the order in which they came. Methods do not keep their
    objects alive, and those whose object is gone are forgotten.

    Signals:
        ended(): all have heard of the last change; in a later turn than they.
    """

    ended = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._all: list[Callable[[], Call | None]] = []
        self._left: list[Callable[[], Call | None]] = []
        self._timer = QTimer(self, interval=0, singleShot=True)
        self._timer.timeout.connect(self._go_on)

    def connect(self, call: Call) -> None:  # type: ignore[override]
        """Tell this one too."""
        self._all.append(weakref.WeakMethod(call) if inspect.ismethod(call) else lambda: call)

    def disconnect(self, call: Call) -> None:  # type: ignore[override]
        """Tell it no more."""
        self._all = [known for known in self._all if known() != call]
        self._left = [known for known in self._left if known() != call]

    def emit(self) -> None:
        """Tell all, from the first; whoever has not heard of an earlier change hears of this one only."""
        self._all = [known for known in self._all if _alive(known())]
        self._left = list(self._all)
        self._go_on()

    def _go_on(self) -> None:
        until = time.perf_counter() + TURN_SECONDS
        if not self._left:
            self.ended.emit()
            return
        try:
            while self._left:
                call = self._left.pop(0)()
                if _alive(call):
                    call()  # type: ignore[misc]
                if time.perf_counter() > until:
                    break
        finally:  # one that fails keeps nobody else from hearing
            self._timer.start()  # also when all have heard: what is drawn at the end is dear enough for its own turn


def _alive(call: Any) -> bool:
    owner = getattr(call, "__self__", None)
    return call is not None and (not isinstance(owner, QObject) or isValid(owner))
