"""A splitter whose borders can be moved from the keyboard: Tab reaches them, arrows move them. Knows no panel."""

from __future__ import annotations

from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QKeyEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QSplitter, QSplitterHandle, QWidget

from app.theme import theme

WIDTH = 5  # pixels of a border
STEP, LEAP = 16, 96  # pixels of an arrow key and of Page Up or Down

_ACROSS = {Qt.Key.Key_Left: -STEP, Qt.Key.Key_Right: STEP}
_DOWN = {Qt.Key.Key_Up: -STEP, Qt.Key.Key_Down: STEP, Qt.Key.Key_PageUp: -LEAP, Qt.Key.Key_PageDown: LEAP}


class Border(QSplitterHandle):
    """A border between two parts."""

    def __init__(self, orientation: Qt.Orientation, splitter: QSplitter) -> None:
        super().__init__(orientation, splitter)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)

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
        """A line; wider under the mouse, and unmistakable with the focus."""
        across = self.orientation() == Qt.Orientation.Horizontal
        painter = QPainter(self)
        if self.hasFocus() or self.underMouse():
            painter.fillRect(self.rect(), theme().color("accent" if self.hasFocus() else "accent_soft"))
        if not self.hasFocus():
            line = QRect(0, 0, 1, self.height()) if across else QRect(0, 0, self.width(), 1)
            painter.fillRect(line, theme().color("line"))
        painter.end()


class Splitter(QSplitter):
    """A `QSplitter` with such borders; the parts should have accessible names."""

    def __init__(self, orientation: Qt.Orientation, parent: QWidget | None = None) -> None:
        super().__init__(orientation, parent)
        self.setHandleWidth(WIDTH)

    def createHandle(self) -> QSplitterHandle:
        """Qt's."""
        return Border(self.orientation(), self)

    def name_borders(self, *names: str) -> None:
        """Name the borders after the parts, in their order."""
        for i in range(1, self.count()):
            handle = self.handle(i)
            if isinstance(handle, Border):
                handle.name_after(names[i - 1], names[i])
