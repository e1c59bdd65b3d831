"""Looks for Python's garbage in portions that hold the window for some milliseconds.

Whichever thread makes the last of so many new objects looks through them, and no other thread runs meanwhile. Left to
itself Python does that now and then with all objects of many rounds, 50 ms and more in the middle of a reply. Here only
the newest are looked through by themselves, others while nothing is computed, and what was alive then not again before
the user is in another program. Knows no object.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

from PySide6.QtCore import QObject, Qt, QTimer
from PySide6.QtGui import QGuiApplication

YOUNG, NEVER = 10_000, 1_000_000  # new objects of a portion, 2 ms; portions, before Python looks through older ones
LOOK_MS = 5_000
MOST = 8  # portions looked through at once, 20 ms; more are left for when the user is in another program
ALL_SECONDS = 300.0  # between two looks at everything, 100 to 300 ms


class Garbage(QObject):
    """From `begin` to `end` it looks when it should. `busy`: whether it should not."""

    def __init__(self, busy: Callable[[], bool], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._busy = busy
        self._before = gc.get_threshold()
        self._all = time.monotonic()  # when everything was looked through
        self._timer = QTimer(self, interval=LOOK_MS)
        self._timer.timeout.connect(self.look)
        QGuiApplication.instance().applicationStateChanged.connect(self._state_changed)  # type: ignore[union-attr]

    def begin(self) -> None:
        """From now on: what there is already stays."""
        _look_through()
        gc.set_threshold(YOUNG, NEVER, NEVER)
        self._timer.start()

    def end(self) -> None:
        """Leave it to Python again."""
        self._timer.stop()
        gc.set_threshold(*self._before)

    def look(self) -> None:
        """Look through what is new since the last time, if that is not too much."""
        portions = gc.get_count()[1]
        if portions == 0 or self._busy():
            return
        if portions > MOST:
            gc.freeze()  # so that nothing is left to look through
        _look_through()

    def _state_changed(self, state: Qt.ApplicationState) -> None:
        inactive = state == Qt.ApplicationState.ApplicationInactive
        if not inactive or not self._timer.isActive() or self._busy() or time.monotonic() - self._all < ALL_SECONDS:
            return
        gc.unfreeze()
        _look_through()
        self._all = time.monotonic()


def _look_through() -> None:
    """Find the garbage; what is alive is not looked through again, and what comes is counted anew."""
    gc.collect()
    gc.freeze()
