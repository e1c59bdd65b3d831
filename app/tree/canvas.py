"""A graphics view that pans, zooms and fits by itself until the user takes over. Knows no tree."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, Qt
from PySide6.QtGui import QMouseEvent, QNativeGestureEvent, QPainter, QResizeEvent, QShowEvent, QWheelEvent
from PySide6.QtWidgets import QFrame, QGraphicsView, QWidget

ZOOM_STEP, ZOOM_LEAST, ZOOM_MOST = 1.2, 0.08, 4.0
FIT_LEAST, FIT_MOST = 0.7, 1.25  # automatic fit neither shrinks text below reading size nor blows up small drawings
ESSENCE_LEAST = 0.55  # but it shrinks this far where that brings the whole essence in sight
CLICK_SLACK = 4  # pixels a click may move


class Canvas(QGraphicsView):
    """Drag pans, Ctrl+wheel and two fingers zoom. Subclasses say what matters and what happens under the mouse.

    Attributes:
        own_zoom: the user has chosen a view: `refit` leaves it alone until `fit`.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.own_zoom = False
        self._grabbed: QPoint | None = None
        self._dragged = False
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setRenderHint(QPainter.RenderHint.Antialiasing)
        self.setTransformationAnchor(QGraphicsView.ViewportAnchor.NoAnchor)
        self.setViewportUpdateMode(QGraphicsView.ViewportUpdateMode.FullViewportUpdate)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        for bar in (self.horizontalScrollBar(), self.verticalScrollBar()):
            bar.actionTriggered.connect(self._scrolled)
        self.viewport().setMouseTracking(True)  # Qt does not, for items without hover events

    def content(self) -> QRectF:
        """Everything there is to see, in scene units."""
        raise NotImplementedError

    def essence(self) -> QRectF:
        """What must be in sight when not everything fits."""
        raise NotImplementedError

    def at_end(self) -> bool:
        """Whether the end of the essence is looked at, rather than its start, where not even that fits."""
        return False

    def pointed(self, at: QPointF | None) -> None:
        """The mouse is over a scene point, or has left."""

    def clicked(self, at: QPointF) -> None:
        """A scene point was clicked."""

    def moved(self) -> None:
        """The user has zoomed or panned."""

    @property
    def scale_now(self) -> float:
        """Pixels per scene unit."""
        return self.transform().m11()

    def fit(self) -> None:
        """Show everything, and fit again by itself from now on."""
        self.own_zoom = False
        self._fit(ZOOM_LEAST)

    def refit(self) -> None:
        """After a change: fit, unless the user has chosen a view. Text stays readable; the essence comes first."""
        if not self.own_zoom:
            essence = self._scale_of(self.essence())
            self._fit(essence if ESSENCE_LEAST <= essence < FIT_LEAST else FIT_LEAST)

    def follow(self) -> None:
        """After a step: move to where `at_end` says, unless all is in sight or the user has chosen a view."""
        if not self.own_zoom and self._scale_of(self.content()) < self.scale_now:
            self.centerOn(self._essence_centre(self.scale_now))

    def zoom(self, factor: float, at: QPointF | None = None) -> None:
        """Zoom by a factor around a viewport point, the middle if none is given."""
        factor = max(ZOOM_LEAST / self.scale_now, min(ZOOM_MOST / self.scale_now, factor))
        fixed = (at or QPointF(self.viewport().rect().center())).toPoint()
        before = self.mapToScene(fixed)
        self._take_over()
        self.scale(factor, factor)
        self.pan(self.mapFromScene(before) - fixed)

    def _take_over(self) -> None:
        self.own_zoom = True
        self.moved()

    def _scrolled(self, _action: int) -> None:
        """By wheel, or by a scroll bar's own mouse and keys."""
        if any(bar.maximum() > bar.minimum() for bar in (self.horizontalScrollBar(), self.verticalScrollBar())):
            self._take_over()

    def _fit(self, least: float) -> None:
        rect = self.content()
        if rect.isEmpty() or self.maximumViewportSize().isEmpty():
            return
        scale = self._scale_of(rect)
        self.resetTransform()
        self.scale(max(scale, least), max(scale, least))
        self.centerOn(rect.center() if scale >= least else self._essence_centre(least))

    def _scale_of(self, rect: QRectF) -> float:
        """The scale at which a rectangle just fits."""
        room = self.maximumViewportSize()
        return min(room.width() / max(rect.width(), 1.0), room.height() / max(rect.height(), 1.0), FIT_MOST)

    def _essence_centre(self, scale: float) -> QPointF:
        """The middle of the essence; where even that is too large, as much as fits from its start or up to its end."""
        rect, width, height = self.essence(), self.viewport().width() / scale, self.viewport().height() / scale
        x, y = rect.center().x(), rect.center().y()
        if rect.width() > width:
            x = rect.right() - width / 2 if self.at_end() else rect.left() + width / 2
        if rect.height() > height:
            y = rect.bottom() - height / 2 if self.at_end() else rect.top() + height / 2
        return QPointF(x, y)

    def pan(self, by: QPoint) -> None:
        """Move the view over the scene by pixels, as far as there is something."""
        across, down = self.horizontalScrollBar(), self.verticalScrollBar()
        across.setValue(across.value() + by.x())
        down.setValue(down.value() + by.y())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep everything fitted."""
        super().resizeEvent(event)
        self.refit()

    def showEvent(self, event: QShowEvent) -> None:
        """Only now the size is known."""
        super().showEvent(event)
        self.refit()

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Ctrl+wheel zooms around the mouse, plain wheel scrolls."""
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self.zoom(ZOOM_STEP ** (event.angleDelta().y() / 120), event.position())
            event.accept()
        else:
            super().wheelEvent(event)

    def viewportEvent(self, event: QEvent) -> bool:
        """Two fingers zoom on a touch pad; the mouse leaving ends the hover."""
        if isinstance(event, QNativeGestureEvent) and event.gestureType() == Qt.NativeGestureType.ZoomNativeGesture:
            self.zoom(1 + event.value(), event.position())
            return True
        if event.type() == QEvent.Type.Leave:
            self.pointed(None)
        return super().viewportEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Start a pan, or a click."""
        if event.button() in (Qt.MouseButton.LeftButton, Qt.MouseButton.MiddleButton):
            self._grabbed, self._dragged = event.position().toPoint(), False

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Pan while a button is held, hover otherwise."""
        at = event.position().toPoint()
        if self._grabbed is None:
            self.pointed(self.mapToScene(at))
        elif self._dragged or (at - self._grabbed).manhattanLength() > CLICK_SLACK:
            self._dragged = True
            self.viewport().setCursor(Qt.CursorShape.ClosedHandCursor)
            self._take_over()
            self.pan(self._grabbed - at)
            self._grabbed = at

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """End a pan, or click."""
        if self._grabbed is None:
            return
        self._grabbed = None
        self.viewport().unsetCursor()
        if not self._dragged and event.button() == Qt.MouseButton.LeftButton:
            self.clicked(self.mapToScene(event.position().toPoint()))
