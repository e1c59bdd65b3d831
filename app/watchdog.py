"""Measures how long the main thread was ever blocked, and where. For tests, and for users with EYRIE_WATCHDOG=1."""

from __future__ import annotations

import sys
import threading
import time
import traceback

from PySide6.QtCore import QObject, Qt, QTimer, Slot

BEAT_MS = 4
LIMIT_MS = 50.0  # blocks longer than this keep the stack seen during them


class Watchdog(QObject):
    """A heartbeat in the main thread, and a thread that looks at the main thread's stack when it stays out.

    Attributes:
        longest_ms: the longest time between two heartbeats, less the interval itself.
        longest_cpu_ms: the most that the main thread itself computed between two heartbeats: what is ours of a block
            where other programs keep the processors busy.
        blocks: (milliseconds, stack as text) of every block longer than LIMIT_MS.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.longest_ms = self.longest_cpu_ms = 0.0
        self._cpu = 0.0
        self.blocks: list[tuple[float, str]] = []
        self._main = threading.get_ident()
        self._last = 0.0
        self._stack = ""
        self._stopping = threading.Event()
        self._sampler: threading.Thread | None = None
        self._timer = QTimer(self, interval=BEAT_MS, timerType=Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._beat)

    def start(self) -> None:
        """Start measuring, from zero."""
        self.reset()
        self._stopping.clear()
        self._timer.start()
        self._sampler = threading.Thread(target=self._sample, name="watchdog", daemon=True)
        self._sampler.start()

    def reset(self) -> None:
        """Forget what was measured so far."""
        self.longest_ms, self.longest_cpu_ms, self.blocks, self._stack = 0.0, 0.0, [], ""
        self._last, self._cpu = time.perf_counter(), time.thread_time()

    def stop(self) -> None:
        """Stop measuring; a block that is not over yet counts."""
        if self._sampler is None:
            return
        self._beat()
        self._timer.stop()
        self._stopping.set()
        self._sampler.join(2)
        self._sampler = None

    def report(self) -> str:
        """What was measured, as text."""
        lines = [
            f"Longest block of the main thread: {self.longest_ms:.0f} ms ({self.longest_cpu_ms:.0f} ms its own work); "
            f"{len(self.blocks)} over {LIMIT_MS:.0f}."
        ]
        lines += [f"--- {ms:.0f} ms\n{stack}" for ms, stack in sorted(self.blocks, reverse=True)[:5]]
        return "\n".join(lines)

    @Slot()
    def _beat(self) -> None:
        now, cpu = time.perf_counter(), time.thread_time()
        blocked = (now - self._last) * 1000 - BEAT_MS
        self.longest_ms = max(self.longest_ms, blocked)
        self.longest_cpu_ms = max(self.longest_cpu_ms, (cpu - self._cpu) * 1000)
        self._cpu = cpu
        if blocked > LIMIT_MS:
            self.blocks.append((blocked, self._stack))
        self._last, self._stack = now, ""

    def _sample(self) -> None:
        while not self._stopping.wait(LIMIT_MS / 2000):
            if (time.perf_counter() - self._last) * 1000 > LIMIT_MS and not self._stack:
                frame = sys._current_frames().get(self._main)
                self._stack = "".join(traceback.format_stack(frame)[-8:]) if frame else ""
                del frame  # or everything in it, a painter for one, would live until the next look
