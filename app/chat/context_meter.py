"""How much of the model's context the conversation takes, said before it is full."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QWidget

from app.theme import GAP_SMALL, theme

NEARLY = 0.85  # of the limit


class Bar(QWidget):
    """A thin bar; full means full."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.share = 0.0
        self.role = "accent"
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        """The present height."""
        return QSize(90, 8)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme().color("line"))
        painter.drawRoundedRect(QRectF(self.rect()), 3, 3)
        if self.share > 0:
            painter.setBrush(theme().color(self.role))
            painter.drawRoundedRect(QRectF(0, 0, max(6.0, self.width() * min(1.0, self.share)), self.height()), 3, 3)
        painter.end()


class ContextMeter(QWidget):
    """ "used / limit" with a bar, and a sentence when it gets tight."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.used, self.limit, self.reply = 0, 0, 0
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(GAP_SMALL)
        self._bar = Bar()
        self._label = QLabel()
        row.addWidget(self._bar)
        row.addWidget(self._label)
        row.addStretch(1)
        self.restyle()
        self.clear()

    def clear(self) -> None:
        """Nothing is known."""
        self.used = self.limit = 0
        self._show()

    def set_count(self, used: int, limit: int) -> None:
        """Tokens of the prompt as it would be sent, and the model's context length."""
        self.used, self.limit = used, limit
        self._show()

    def set_reply(self, tokens: int) -> None:
        """Longest reply, which needs room too."""
        self.reply = tokens
        self._show()

    def notice(self) -> str:
        """A sentence when the context is nearly full or over; "" otherwise."""
        if not self.limit:
            return ""
        if self.used >= self.limit:
            return (
                "The context is full: the oldest messages will be left out of the next prompt (they stay in the chat)."
            )
        if self.used >= NEARLY * self.limit:
            left = self.limit - self.used
            return f"The context is nearly full: {left} tokens are left for the reply; then the oldest messages leave."
        return ""

    def restyle(self) -> None:
        """Take the theme's colours and size."""
        self._label.setFont(theme().font(0.85))
        self._show()

    def _show(self) -> None:
        known = self.limit > 0
        self._bar.setVisible(known)
        self._label.setText(f"{self.used:,} / {self.limit:,} tokens".replace(",", "\u202f") if known else "")
        share = self.used / self.limit if known else 0.0
        role = "danger" if share >= 1 else "warning" if share >= NEARLY else "accent"
        self._bar.share, self._bar.role = share, role
        self._bar.update()
        color = theme().color("muted" if role == "accent" else role).name()
        self._label.setStyleSheet(f"color: {color};")
        words = f"{self.used} of {self.limit} tokens of the context are used" if known else "not known yet"
        self.setAccessibleName(f"Context: {words}")
        self.setToolTip(f"Context: {words}. {self.notice()}".strip())
