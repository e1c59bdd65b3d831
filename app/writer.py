"""What the window has to write to the store: one thing after the other, in a thread of its own, as asked.

The main thread must not write: another program may hold the file, and a disk may take its time. Knows no table.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from PySide6.QtCore import QObject, QThreadPool, Signal

from app.aside import STACK_BYTES
from app.beside import Beside, Otherwise, Then
from app.log import explained
from app.store import BusyDatabaseError

AGAIN = 0.05  # seconds between two attempts at the end
PATIENCE = 0.015  # seconds; a write takes 1 to 5 ms, so what was asked for is mostly seen in the same turn of the loop


class Writer(QObject):
    """`run(call, doing, then, otherwise)`: what follows a write belongs into `then`.

    Signals:
        failed(str, str): sentence and traceback or "" of a call whose caller gave no `otherwise`.
    """

    failed = Signal(str, str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._pool = QThreadPool(self)
        self._pool.setMaxThreadCount(1)  # so they are done in the order they came
        self._pool.setExpiryTimeout(-1)  # a thread has a connection of its own
        self._pool.setStackSize(STACK_BYTES)
        self._beside = Beside(self, self._pool)
        self._closed = False
        self._last_chance = LastChance()

    def post(
        self, call: Callable[[], Any], doing: str, then: Then | None = None, otherwise: Otherwise | None = None
    ) -> None:
        """Call in the writing thread; `then` gets the result, `otherwise` the sentence of an error, here and later.

        `call` must hold no widget. After `close` nothing is done.
        """
        if not self._closed:
            self._beside.run(
                partial(_do, call, self._last_chance), then or _nothing, partial(self._fail, doing, otherwise)
            )

    def run(self, call: Callable[[], Any], doing: str, then: Then, otherwise: Otherwise | None = None) -> None:
        """The same for what the user waits to see: `then` comes before this returns if it all takes no longer than
        `PATIENCE`, and later otherwise."""
        self.post(call, doing, then, otherwise)
        self._beside.wait(PATIENCE)

    def close(self, seconds: float) -> bool:
        """Write what was asked for and end; no answer is given any more. False when that takes longer.

        Who closes the window cannot try again, so what another program stands in the way of is tried until then.
        """
        self._closed = True
        self._last_chance.until = time.monotonic() + seconds
        self._beside.forget()
        return self._pool.waitForDone(round(seconds * 1000))

    def _fail(self, doing: str, otherwise: Otherwise | None, error: Exception) -> None:
        sentence, detail = explained(error, doing)
        if otherwise is not None:
            otherwise(sentence)
        else:
            self.failed.emit(sentence, detail)


class LastChance:
    """Until when the writing thread goes on trying; it knows this and not the writer. 0: tell at once."""

    until = 0.0


def _do(call: Callable[[], Any], last_chance: LastChance) -> Any:
    while True:
        try:
            return call()
        except BusyDatabaseError:
            if time.monotonic() >= last_chance.until:
                raise
            time.sleep(AGAIN)


def _nothing(_: object) -> None:
    """For what nothing follows."""
