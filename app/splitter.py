"""A splitter whose borders can be moved from the keyboard: Tab reaches them, arrows move them. Knows no panel."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QSplitter, QSplitterHandle

from app.theme import theme

STEP, LEAP = 16, 96  # pixels of an arrow key and of Page Up or Down

_ACROSS = {Qt.Key.Key_Left: -STEP, Qt.Key.Key_Right: STEP}
_DOWN = {Qt.Key.Key_Up: -STEP, Qt.Key.Key_Down: STEP, Qt.Key.Key_PageUp: -LEAP, Qt.Key.Key_PageDown: LEAP}


class Border(QSplitterHandle):
    """A border between two parts."""

    def __init__(self, orientation: Qt.Orientation, splitter: QSplitter) -> None:
        super().__init__(orientation, splitter)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)

    def name_after(self, above: str, below: str) -> None:
        """What a screen reader says."""
        self.setAccessibleName(f"Border between {above} and {below}")
        across = self.orientation() == Qt.Orientation.Horizontal
        self.setAccessibleDescription(f"{'Left and Right' if across else 'Up and Down'} move it.")

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Arrows move the border, as far as the parts allow."""
        across = self.orientation() == Qt.Orientation.Horizontal
        step = (_ACROSS if across else _DOWN).get(Qt.Key(event.key()))
        if step is None:
            super().keyPressEvent(event)
            return
        self.moveSplitter((self.x() if across else self.y()) + step)

    def paintEvent(self, event: QPaintEvent) -> None:
        """As the style has it, and unmistakable with the focus."""
        super().paintEvent(event)
        if self.hasFocus():
            painter = QPainter(self)
            painter.fillRect(self.rect(), theme().color("accent"))
            painter.end()


class Splitter(QSplitter):
    """A `QSplitter` with such borders; the parts should have accessible names."""

    def createHandle(self) -> QSplitterHandle:
        """Qt's."""
        return Border(self.orientation(), self)

    def name_borders(self, *names: str) -> None:
        """Name the borders after the parts, in their order."""
        for i in range(1, self.count()):
            handle = self.handle(i)
            if isinstance(handle, Border):
                handle.name_after(names[i - 1], names[i])
