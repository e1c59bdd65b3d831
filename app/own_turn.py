"""A timer whose `due` comes in a turn of the event loop of its own where several parts would come in the same one.

Each keeps to some milliseconds, but four of them one after the other would hold the window. Knows nothing about them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from PySide6.QtCore import QObject, QTimer, Signal

DEAR = 0.002  # seconds; what takes less may share a turn
REST = 0.002  # seconds after a dear call in which none is begun: in a busy loop that is the next turn
REST_MS = 2
MOST = 6  # times that one waits; where every turn is dear it would wait for good

clock = time.perf_counter
_last = [0.0, 0.0]  # when the last dear call ended, and the seconds that it took


def crowded(seconds: float = DEAR) -> bool:
    """Whether something that took so long has just been done, so that what can wait should."""
    return clock() - _last[0] < REST and _last[1] >= seconds


def done(began: float) -> None:
    """Something that may have been dear is over; `began`: when `clock` said so."""
    now = clock()
    if now - began >= DEAR:
        _last[:] = now, now - began


@contextmanager
def counted() -> Iterator[None]:
    """Around what may be dear."""
    began = clock()
    yield
    done(began)


class OwnTurn(QTimer):
    """Once for each `start`; without milliseconds that waits for those given at first.

    Signals:
        due(): connect to this, not to `timeout`.
    """

    due = Signal()

    def __init__(self, parent: QObject | None, interval_ms: int) -> None:
        super().__init__(parent, singleShot=True)
        self._interval_ms = interval_ms
        self._waited = 0
        self.timeout.connect(self._expired)

    def start(self, ms: int | None = None) -> None:  # type: ignore[override]
        """Due after so many milliseconds, or a little later where the turn is taken."""
        super().start(self._interval_ms if ms is None else ms)

    def _expired(self) -> None:
        if crowded() and self._waited < MOST:
            self._waited += 1
            super().start(REST_MS)
            return
        self._waited = 0
        with counted():
            self.due.emit()
