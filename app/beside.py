"""Calls in other threads whose answers are looked for here.

The other thread knows the call and a queue, and nothing of whoever waits: a thread that held a widget could be the last
to let go of it, or tell it something while it goes, and either ends the program.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any

from PySide6.QtCore import QObject, QThreadPool, QTimer

from app import own_turn

LOOK_MS = 10

Call = Callable[[], Any]
Then = Callable[[Any], object]
Otherwise = Callable[[str], object]  # gets a sentence
Answer = tuple[int, Any, Exception | None]


class Beside(QObject):
    """`run(call, then, otherwise)`: `call` must hold no widget. What is under way when this goes is forgotten.

    The threads are those of `pool`, or those that all share.
    """

    def __init__(self, parent: QObject | None = None, pool: QThreadPool | None = None) -> None:
        super().__init__(parent)
        self._pool = pool or QThreadPool.globalInstance()
        self._answers: SimpleQueue[Answer] = SimpleQueue()
        self._waiting: dict[int, tuple[Then, Then]] = {}
        self._count = 0
        self._timer = QTimer(self, interval=LOOK_MS)
        self._timer.timeout.connect(self._look)

    def run(self, call: Call, then: Then, otherwise: Then) -> None:
        """Call in another thread; `then` gets the result here, or `otherwise` the exception."""
        self._count += 1
        self._waiting[self._count] = (then, otherwise)
        self._pool.start(partial(_work, self._count, call, self._answers))
        self._timer.start()

    def wait(self, seconds: float) -> None:
        """Give the answers that come within that time here and now, or until none is awaited."""
        until = time.monotonic() + seconds
        while self._waiting and (left := until - time.monotonic()) > 0:
            try:
                answer = self._answers.get(timeout=left)
            except Empty:
                return
            self._tell(answer)

    def forget(self) -> None:
        """Await no answer any more."""
        self._waiting.clear()
        self._timer.stop()

    def _look(self) -> None:
        try:
            answer = self._answers.get_nowait()
        except Empty:
            return
        with own_turn.counted():
            self._tell(answer)

    def _tell(self, answer: Answer) -> None:
        number, value, error = answer
        then, otherwise = self._waiting.pop(number)
        if not self._waiting:
            self._timer.stop()
        if error is None:
            then(value)
        else:
            otherwise(error)


def _work(number: int, call: Call, answers: SimpleQueue[Answer]) -> None:
    try:
        answer: Answer = (number, call(), None)
    except Exception as error:
        answer = (number, None, error)
    answers.put(answer)
