"""Calls in other threads whose answers are looked for here.

The other thread knows the call and a queue, and nothing of whoever waits: a thread that held a widget could be the last
to let go of it, or tell it something while it goes, and either ends the program.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any

from PySide6.QtCore import QObject, QThreadPool, QTimer

LOOK_MS = 10

Call = Callable[[], Any]
Then = Callable[[Any], object]
Answer = tuple[int, Any, Exception | None]


class Beside(QObject):
    """`run(call, then, otherwise)`: `call` must hold no widget. What is under way when this goes is forgotten."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._answers: SimpleQueue[Answer] = SimpleQueue()
        self._waiting: dict[int, tuple[Then, Then]] = {}
        self._count = 0
        self._timer = QTimer(self, interval=LOOK_MS)
        self._timer.timeout.connect(self._look)

    def run(self, call: Call, then: Then, otherwise: Then) -> None:
        """Call in another thread; `then` gets the result here, or `otherwise` the exception."""
        self._count += 1
        self._waiting[self._count] = (then, otherwise)
        QThreadPool.globalInstance().start(partial(_work, self._count, call, self._answers))
        self._timer.start()

    def _look(self) -> None:
        try:
            number, value, error = self._answers.get_nowait()
        except Empty:
            return
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
