"""Lets the main thread finish what takes long while the engine computes on every processor.

The main thread then shares a processor with one of the engine's threads, so what it does for the user (a large chat is
shown, a window is laid out anew) takes twice its time. Between two rounds the engine can wait for it. Knows threads and
time; neither widgets nor rounds.
"""

from __future__ import annotations

import threading
import time

LONG = 0.01  # seconds of work in the last two rounds; a picture of streamed text takes less
FIRST, STEP = 0.0005, 0.0015  # seconds to the first look, and between two further ones
REST = 0.3  # of that: who works less is done
MOST = 0.06  # seconds that the engine waits at most


class GiveWay:
    """Call it between two rounds; it waits while the thread (the main one) is in the middle of something long.

    Where the system cannot say what a thread has used (macOS, Windows) it never waits.
    """

    def __init__(self, thread: threading.Thread | None = None) -> None:
        ident = (thread or threading.main_thread()).ident
        known = hasattr(time, "pthread_getcpuclockid") and ident is not None
        self._clock = time.pthread_getcpuclockid(ident) if known else None  # type: ignore[arg-type]
        self._before = self._seen = self._used()  # at the call before the last, and at the last

    def __call__(self) -> float:
        """The seconds that were waited."""
        used, waited = self._used(), 0.0
        if used - self._before >= LONG:
            waited = self._wait(used)
            used = self._seen = self._used()
        self._before, self._seen = self._seen, used
        return waited

    def _wait(self, used: float) -> float:
        began, step = time.perf_counter(), FIRST
        while time.perf_counter() - began < MOST:
            before = used
            time.sleep(step)
            used = self._used()
            if used - before < REST * step:
                break
            step = STEP
        return time.perf_counter() - began

    def _used(self) -> float:
        """Processor seconds of the thread; those of a thread that has ended do not grow."""
        try:
            return time.clock_gettime(self._clock) if self._clock is not None else 0.0
        except OSError:
            return self._seen
