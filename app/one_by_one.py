"""Does the parts of one thing in turns of the event loop of their own: together they would hold the window.

Knows nothing about what it does.
"""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject

from app.own_turn import OwnTurn

TURN_SECONDS = 0.008  # after so long in one turn of the event loop whoever has much to do begins nothing else
GAP_MS = 12  # between two parts: the picture of the first, and what it left for later turns, come before the second


class OneByOne(QObject):
    """One thing at a time: what is left of an earlier one is dropped."""

    def __init__(self, parent: QObject | None = None, gap_ms: int = GAP_MS) -> None:
        super().__init__(parent)
        self._left: list[Callable[[], object]] = []
        self._timer = OwnTurn(self, gap_ms)
        self._timer.due.connect(self._go_on)

    def begin(self, *parts: Callable[[], object]) -> None:
        """Do these, one per turn, none in the present one."""
        self._left = list(parts)
        self._timer.start()

    def finish(self) -> None:
        """Do all that is left now."""
        self._timer.stop()
        while self._left:
            self._left.pop(0)()

    def _go_on(self) -> None:
        if not self._left:
            return
        part = self._left.pop(0)
        if self._left:
            self._timer.start()
        part()
