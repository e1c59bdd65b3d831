"""Does the parts of one thing in turns of the event loop of their own: together they would hold the window.

Knows nothing about what it does.
"""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer


class OneByOne(QObject):
    """One thing at a time: what is left of an earlier one is dropped. What its parts change is drawn between them."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._left: list[Callable[[], object]] = []
        self._timer = QTimer(self, interval=0, singleShot=True)
        self._timer.timeout.connect(self._go_on)

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
