"""How long the views wait between two pictures while the engine computes. Knows processors and time, no widget.

Where the engine's threads fill all processors, every millisecond of drawing is taken from them, and a pass waits for
the slowest of its threads. So the main thread measures what it uses and stretches the waits until its share is small.
With processors to spare it does not.
"""

from __future__ import annotations

import os
import time

from PySide6.QtCore import QObject

SHARE, SHARE_SPARE = 0.025, 0.4  # of a processor that the main thread may use while the engine computes
LOOK_SECONDS = 0.25
IDLE = 0.3  # of the share: below it nothing is being drawn
FIRST, MOST = 5.0, 15.0  # factors


def processors() -> int:
    """Processors that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def spare(threads: int) -> bool:
    """Whether a processor is left beside so many threads of the engine; 0: unknown, it may be all."""
    return processors() > threads > 0


class Pace(QObject):
    """A factor for intervals, from 1 up. `look` from the main thread, often; `interval` from wherever something waits.

    Attributes:
        slowdown: the factor now.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.slowdown = FIRST
        self._aim = SHARE
        self._busy = False
        self._seen = self._used = 0.0

    def set_threads(self, threads: int) -> None:
        """How many threads the engine computes with; see `spare`."""
        self._aim, self.slowdown = (SHARE_SPARE, 1.0) if spare(threads) else (SHARE, FIRST)

    def set_busy(self, busy: bool) -> None:
        """Whether the engine computes. While it does not, nothing waits longer than usual."""
        self._busy = busy
        self._seen, self._used = time.perf_counter(), time.thread_time()

    def look(self) -> None:
        """Compare what this thread has used since the last look with what it may."""
        now = time.perf_counter()
        if not self._busy or now - self._seen < LOOK_SECONDS:
            return
        used = time.thread_time()
        share = (used - self._used) / (now - self._seen)
        self._seen, self._used = now, used
        if share < IDLE * self._aim:  # a long prompt is read, say: that tells nothing about what drawing costs
            return
        self.slowdown = max(1.0, min(MOST, self.slowdown * max(0.7, min(1.4, share / self._aim))))

    def interval(self, milliseconds: int) -> int:
        """The usual wait, stretched."""
        return round(milliseconds * self.slowdown) if self._busy else milliseconds
