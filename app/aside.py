"""Long calls of the engine's thread, each in a thread of its own: Stop need not wait for what cannot be interrupted.

A call that is left is asked to end, and ends when it can: its steps are told to nobody and its result is closed there.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any

from engine import Cancelled, Progress, ProgressCallback

LOOK_SECONDS = 0.01
STACK_BYTES = 16 << 20  # some systems give threads half a megabyte, too little for a parser

Call = Callable[[ProgressCallback, threading.Event], Any]

_left: list[threading.Thread] = []


def run_aside(
    call: Call,
    cancel: threading.Event,
    progress: ProgressCallback,
    between: Callable[[], None],
    *,
    may_leave: Callable[[], bool] = lambda: True,
) -> Any:
    """What `call(progress, cancel)` returns or raises; `Cancelled` soon after `cancel` is set, wherever the call is.

    `progress` and `between` are called in this thread only. The call gets a `cancel` of its own, which stays set.
    `may_leave`: whether it need not be over before anything else begins; else it is asked to end and waited for.
    """
    if cancel.is_set():
        raise Cancelled("Stopped.")
    work = _Work(call, cancel)
    work.start()
    while not work.ended.wait(LOOK_SECONDS):
        if cancel.is_set():
            work.cancel.set()
            if may_leave() and work.abandon():
                _left[:] = [thread for thread in _left if thread.is_alive()] + [work]
                raise Cancelled("Stopped.")
        work.tell(progress)
        between()
    work.join()
    work.tell(progress)
    if work.error is not None:
        raise work.error
    return work.result


def left_behind(seconds: float) -> bool:
    """Whether a call that was left is still there after this time."""
    deadline = time.monotonic() + seconds
    for thread in _left:
        thread.join(max(0.0, deadline - time.monotonic()))
    return any(thread.is_alive() for thread in _left)


class _Following(threading.Event):
    """Set once it is, and whenever another one is: who pressed Stop must not wait for it to be passed on."""

    def __init__(self, other: threading.Event) -> None:
        super().__init__()
        self._other = other

    def is_set(self) -> bool:
        """Whether either is."""
        return super().is_set() or self._other.is_set()


class _Work(threading.Thread):
    """One call. What it gives is taken by whoever waits, or by itself once nobody does."""

    def __init__(self, call: Call, cancel: threading.Event) -> None:
        super().__init__(name="aside")
        self.cancel = _Following(cancel)
        self.ended = threading.Event()
        self.result: Any = None
        self.error: Exception | None = None
        self._call = call
        self._steps: SimpleQueue[Progress] = SimpleQueue()
        self._abandoned = False
        self._lock = threading.Lock()

    def start(self) -> None:
        """Start with enough stack."""
        before = threading.stack_size(STACK_BYTES)
        try:
            super().start()
        finally:
            threading.stack_size(before)

    def run(self) -> None:
        """Call, in this thread."""
        result, error = None, None
        try:
            result = self._call(self._steps.put, self.cancel)
        except Exception as failure:
            error = failure
        with self._lock:
            if not self._abandoned:
                self.result, self.error = result, error
                self.ended.set()
                return
        close = getattr(result, "close", None)
        if close is not None:
            close()

    def abandon(self) -> bool:
        """Leave the call to itself; False when it has ended just now."""
        with self._lock:
            self._abandoned = not self.ended.is_set()
            return self._abandoned

    def tell(self, progress: ProgressCallback) -> None:
        """Pass on what the call has told of its steps."""
        while True:
            try:
                step = self._steps.get_nowait()
            except Empty:
                return
            progress(step)
