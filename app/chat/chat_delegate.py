"""How a chat or a search hit is drawn in the list: title, a second line, a mark while a reply is running."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter
from PySide6.QtWidgets import QLineEdit, QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from app.theme import GAP, GAP_SMALL, RADIUS, theme

SECOND = Qt.ItemDataRole.UserRole + 1  # second line
RUNNING = Qt.ItemDataRole.UserRole + 2
HIT = Qt.ItemDataRole.UserRole + 3  # (start, length) of the match in the second line
Index = QModelIndex | QPersistentModelIndex


class ChatDelegate(QStyledItemDelegate):
    """Two lines per row."""

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        """The present height."""
        lines = QFontMetrics(theme().font()).height() + QFontMetrics(theme().font(0.85)).height()
        return QSize(80, lines + 2 * GAP_SMALL + 4)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """Draw one row."""
        colors = theme()
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        rect = option.rect.adjusted(2, 1, -2, -1)
        state = option.state
        selected = bool(state & QStyle.StateFlag.State_Selected)
        if selected or state & QStyle.StateFlag.State_MouseOver:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(colors.color("accent_soft" if selected else "hover"))
            painter.drawRoundedRect(rect, RADIUS, RADIUS)
        if state & QStyle.StateFlag.State_HasFocus:
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(colors.color("accent"))
            painter.drawRoundedRect(rect.adjusted(0, 0, -1, -1), RADIUS, RADIUS)
        inside = rect.adjusted(GAP, GAP_SMALL, -GAP, -GAP_SMALL)
        self._draw_title(painter, inside, index)
        self._draw_second(painter, inside, index)
        painter.restore()

    def createEditor(self, parent: QWidget, option: QStyleOptionViewItem, index: Index) -> QWidget:
        """A named line for the title."""
        editor = QLineEdit(parent)
        editor.setAccessibleName("New name of the chat")
        return editor

    def updateEditorGeometry(self, editor: QWidget, option: QStyleOptionViewItem, index: Index) -> None:
        """The editor fills the row."""
        rect = option.rect
        editor.setGeometry(rect.adjusted(2, 2, -2, -2))

    def _draw_title(self, painter: QPainter, rect: QRect, index: Index) -> None:
        running = index.data(RUNNING)
        font = theme().font(bold=bool(running))
        painter.setFont(font)
        metrics = QFontMetrics(font)
        painter.setPen(theme().color("text"))
        title = ("… " if running else "") + str(index.data(Qt.ItemDataRole.DisplayRole) or "")
        shown = metrics.elidedText(title, Qt.TextElideMode.ElideRight, rect.width())
        painter.drawText(rect, Qt.AlignmentFlag.AlignTop | Qt.TextFlag.TextSingleLine, shown)

    def _draw_second(self, painter: QPainter, rect: QRect, index: Index) -> None:
        font = theme().font(0.85)
        painter.setFont(font)
        metrics = QFontMetrics(font)
        text = str(index.data(SECOND) or "")
        start, length = index.data(HIT) or (0, 0)
        below = QRect(rect)
        below.setTop(rect.bottom() - metrics.height() + 1)
        if length and metrics.horizontalAdvance(text[: start + length]) > rect.width():  # bring the match into view
            cut = max(0, start - 12)
            text, start = "…" + text[cut:], start - cut + 1
        if length:
            left = below.left() + metrics.horizontalAdvance(text[:start])
            width = metrics.horizontalAdvance(text[start : start + length])
            mark = QRect(left, below.top(), width, below.height()).intersected(below)
            painter.fillRect(mark, theme().color("highlight"))
        painter.setPen(theme().color("muted"))
        shown = metrics.elidedText(text, Qt.TextElideMode.ElideRight, below.width())
        painter.drawText(below, Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine, shown)
