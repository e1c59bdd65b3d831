"""What the engine's thread has still to do, and what it does now. Knows no engine and no Qt."""

from __future__ import annotations

import threading
from collections import deque

from app.jobs import Count, Generate, Job, Run


class JobQueue:
    """Jobs in the order they came; `Run` and the newest `Count` are quick and taken apart, also while a job runs.

    Used from several threads. Who must see jobs and what they work on as one holds `lock`; it may be taken again.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.running: Job | None = None  # never a quick one
        self._slow: deque[Job] = deque()
        self._quick: deque[Run] = deque()
        self._count: Count | None = None
        self._closed = threading.Event()

    @property
    def closed(self) -> bool:
        """Whether the thread that takes the jobs is to end."""
        return self._closed.is_set()

    def close(self) -> None:
        """Have that thread end; it takes what is quick before."""
        self._closed.set()

    def post(self, job: Job) -> None:
        """Append a job; a `Count` replaces one that still waits."""
        with self.lock:
            if isinstance(job, Count):
                self._count = job
            elif isinstance(job, Run):
                self._quick.append(job)
            else:
                self._slow.append(job)

    def cancel(self, number: int | None = None) -> None:
        """Cancel a job, running or waiting; all that are not quick when `number` is None."""
        with self.lock:
            for job in (self.running, *self._slow):
                if job is not None and number in (None, job.number):
                    job.cancel.set()

    def turns(self) -> list[Generate]:
        """Turns that run or wait."""
        with self.lock:
            return [job for job in (self.running, *self._slow) if isinstance(job, Generate)]

    def take(self) -> Job | None:
        """Begin the oldest job that is not quick; None when there is none."""
        with self.lock:
            self.running = self._slow.popleft() if self._slow else None
            return self.running

    def finish(self) -> None:
        """The running job is over."""
        with self.lock:
            self.running = None

    def take_run(self) -> Run | None:
        """The oldest `Run`; None when there is none."""
        with self.lock:
            return self._quick.popleft() if self._quick else None

    def take_count(self) -> Count | None:
        """The newest `Count`; None when there is none."""
        with self.lock:
            count, self._count = self._count, None
            return count
