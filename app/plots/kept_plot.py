"""A plot that keeps the picture it was painted last, and shows it again while nothing of it changed: painting a plot is
dear, and the window is painted as a whole whenever its size or that of a part changes. Knows no numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyqtgraph as pg
from PySide6.QtCore import Signal
from PySide6.QtGui import QPainter, QPaintEvent, QPixmap


class KeptPlot(pg.PlotWidget):
    """Whoever changes what is in it uses `painted_once` or calls `outdate`.

    Signals:
        size_changed: it is to be laid out for another size, unless it is held now.

    Attributes:
        held: it waits with its layout, and shows the old picture, stretched.
    """

    size_changed = Signal()

    held = False
    _picture: QPixmap | None = None
    _right = False  # whether painting would give the same picture
    _resized = False  # while it was held

    @property
    def kept(self) -> bool:
        """Whether there is a picture, of whatever size."""
        return self._picture is not None

    @contextmanager
    def painted_once(self) -> Iterator[None]:
        """Paints after what is done inside, for now and for the next pictures of the window."""
        self.viewport().setUpdatesEnabled(False)
        self._right = False
        try:
            yield
        finally:
            self.viewport().setUpdatesEnabled(True)
        if not self.held and self.isVisible():
            self._picture = self.viewport().grab()
            self._right = True

    def outdate(self) -> None:
        """Something in it changed that asks for its own painting."""
        self._right = False

    def hold(self, forget: bool = False) -> None:
        """Neither lay out nor paint until `release`; `forget`: not even the old picture is to be seen."""
        self.held = True
        if forget:
            self._picture = None
        self.viewport().update()

    def release(self) -> None:
        """Lay out now, and paint."""
        if not self.held:
            return
        self.held = self._right = False
        if self._resized:
            self._resized = False
            super().resizeEvent(None)
        self.viewport().update()

    def resizeEvent(self, event: Any) -> None:
        """Later, if whoever hears of it holds the plot."""
        self.outdate()
        self.size_changed.emit()
        if self.held:
            self._resized = True
        else:
            super().resizeEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        """The kept picture where the whole is asked for; for a part of it something has changed."""
        whole = event.rect() == self.viewport().rect()
        if not self.held and not (self._right and whole):
            self._right = False
            super().paintEvent(event)
            return
        painter = QPainter(self.viewport())
        if self._picture is None:
            painter.fillRect(event.rect(), self.backgroundBrush())
        else:
            painter.drawPixmap(self.viewport().rect(), self._picture)
        painter.end()
