"""A line around the widget with the focus, for those that draw none, or one that is hard to see, of their own."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen, QRegion
from PySide6.QtWidgets import QAbstractItemView, QApplication, QGraphicsView, QScrollArea, QSlider, QToolButton, QWidget
from shiboken6 import isValid

from app.theme import theme

WIDTH = 2  # pixels
_RINGED = (QGraphicsView, QScrollArea, QAbstractItemView, QSlider)


class FocusRing(QWidget):
    """Sits on top of the widget with the focus; nothing else of the window is drawn again for it."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self._around: QWidget | None = None
        self._watched: list[QWidget] = []
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.hide()
        app = QApplication.instance()
        assert isinstance(app, QApplication)
        app.focusChanged.connect(self._moved)

    @property
    def around(self) -> QWidget | None:
        """The widget that has the ring."""
        return self._around

    def _moved(self, _old: QWidget | None, new: QWidget | None) -> None:
        for widget in filter(isValid, self._watched):
            widget.removeEventFilter(self)
        self._watched.clear()
        bare = isinstance(new, _RINGED) or (isinstance(new, QToolButton) and new.autoRaise())
        ringed = new is not None and bare and self._window.isAncestorOf(new)
        self._around = new if ringed else None
        self.setVisible(ringed)
        if ringed:
            widget = new
            while widget is not None and widget is not self._window:  # it also moves when what it is in moves
                widget.installEventFilter(self)
                self._watched.append(widget)
                widget = widget.parentWidget()
            self._follow()

    def _follow(self) -> None:
        if self._around is None or not isValid(self._around):
            return
        area = self._around.rect()
        self.setGeometry(area.translated(self._around.mapTo(self._window, area.topLeft())))
        inner = self.rect().adjusted(WIDTH, WIDTH, -WIDTH, -WIDTH)
        self.setMask(QRegion(self.rect()).subtracted(QRegion(inner)))
        self.raise_()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Stay around it."""
        if event.type() in (QEvent.Type.Move, QEvent.Type.Resize):
            self._follow()
        return False

    def paintEvent(self, event: QPaintEvent) -> None:
        """The line."""
        with QPainter(self) as painter:
            painter.setPen(QPen(theme().color("accent"), 2 * WIDTH))
            painter.drawRect(self.rect())
