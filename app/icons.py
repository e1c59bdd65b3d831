"""The few icons of the toolbar, drawn: fonts lack the signs of recorders and players on many systems."""

from __future__ import annotations

from typing import Literal

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QIcon, QPainter, QPixmap, QPolygonF

Name = Literal["live", "hold", "play", "step", "step_back"]
SIZE = 16
SCALES = (1, 2)  # device pixels per pixel


def icon(name: Name, color: QColor, muted: QColor) -> QIcon:
    """An icon in a colour; `muted` where its button is disabled."""
    made = QIcon()
    for scale in SCALES:
        made.addPixmap(_pixmap(name, color, scale), QIcon.Mode.Normal)
        made.addPixmap(_pixmap(name, muted, scale), QIcon.Mode.Disabled)
    return made


def _pixmap(name: Name, color: QColor, scale: int) -> QPixmap:
    pixmap = QPixmap(SIZE * scale, SIZE * scale)
    pixmap.setDevicePixelRatio(scale)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(color)
    if name == "step_back":
        painter.translate(SIZE, 0)
        painter.scale(-1, 1)
    if name == "live":
        painter.drawEllipse(QPointF(8, 8), 4.5, 4.5)
    elif name == "hold":
        painter.drawRect(QRectF(4, 3, 3, 10))
        painter.drawRect(QRectF(9, 3, 3, 10))
    else:
        right = 13.0 if name == "play" else 11.0
        painter.drawPolygon(QPolygonF([QPointF(3.5, 3), QPointF(right, 8), QPointF(3.5, 13)]))
        if name != "play":
            painter.drawRect(QRectF(11, 3, 2, 10))
    painter.end()
    return pixmap
