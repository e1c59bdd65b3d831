"""A column that is scrolled where the window is lower than it needs, and stands there as if unscrolled elsewhere."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QSize, Qt
from PySide6.QtWidgets import QFrame, QScrollArea, QWidget

LEAST_HEIGHT = 160  # pixels of it that are seen in the lowest window


class TallArea(QScrollArea):
    """Never narrower than its content, so it scrolls up and down only; Tab brings what it reaches into view."""

    def __init__(self, content: QWidget, name: str) -> None:
        super().__init__(widgetResizable=True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setAccessibleName(name)
        self._told = QSize(), QSize()
        self.setWidget(content)
        self.verticalScrollBar().installEventFilter(self)

    def minimumSizeHint(self) -> QSize:
        """As wide as the content must be, beside the scroll bar where there is one."""
        bar = self.verticalScrollBar()
        content, hint = self.widget(), self.widget().minimumSizeHint()
        beside = bar.sizeHint().width() if bar.isVisibleTo(self) else 0
        return QSize((content.minimumWidth() or hint.width()) + beside, min(hint.height(), LEAST_HEIGHT))

    def sizeHint(self) -> QSize:
        """The content's."""
        return self.widget().sizeHint()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """The content needs another size, or the scroll bar comes or goes: so does the least width. Where it does not,
        the layouts around it are left alone: words inside change while a reply streams."""
        done = super().eventFilter(watched, event)
        if event.type() in (QEvent.Type.LayoutRequest, QEvent.Type.ShowToParent, QEvent.Type.HideToParent):
            hints = self.minimumSizeHint(), self.sizeHint()
            if hints != self._told:
                self._told = hints
                self.updateGeometry()
        return done
