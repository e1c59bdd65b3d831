"""What the pictures of a pass share: something in them is pointed at, by the mouse or by key. Draws nothing."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QEvent
from PySide6.QtGui import QFocusEvent
from PySide6.QtWidgets import QWidget

from app.tree.paint import BY_KEY
from app.tree.verify_pass import PassRow


class Pointed(QWidget):
    """A picture of the rows of a pass. Subclasses say what can be pointed at, in `_point` and `_start`.

    Attributes:
        rows: the rows of the pass; none without a round.
    """

    rows: tuple[PassRow, ...] = ()

    def _point(self, at: Any) -> None:
        """Point at something; None: at nothing."""
        raise NotImplementedError

    def _start(self) -> Any:
        """What is pointed at, or else where whoever comes by key starts."""
        raise NotImplementedError

    def leaveEvent(self, event: QEvent) -> None:
        """Point at nothing."""
        self._point(None)

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Whoever comes by key starts somewhere, which shows where the focus is."""
        super().focusInEvent(event)
        if event.reason() in BY_KEY and self.rows:
            self._point(self._start())
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Nothing stays marked, here or elsewhere."""
        super().focusOutEvent(event)
        if not self.underMouse():
            self._point(None)
        self.update()
