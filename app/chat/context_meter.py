"""How much of the model's context the conversation takes, said before it is full."""

from __future__ import annotations

import re

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QWidget

from app.theme import GAP_SMALL, theme
from engine import prompt_room

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


class Counts(QWidget):
    """Numbers, and what they count where there is room for it. Drawn here: a QLabel asks for another layout of all
    around it at each new number."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._numbers = self._whole = ""
        self._color = QColor()

    def say(self, numbers: str, unit: str, color: QColor) -> None:
        """Show these; nothing where `numbers` is empty."""
        hints = self.sizeHint(), self.minimumSizeHint()
        self._numbers, self._whole = numbers, f"{numbers} {unit}" if numbers else ""
        self._color = color
        self.update()
        if (self.sizeHint(), self.minimumSizeHint()) != hints:
            self.updateGeometry()

    def text(self) -> str:
        """What can be read."""
        return self._whole if self.width() >= self._wide(self._whole) else self._numbers

    def sizeHint(self) -> QSize:
        """Room for all of it."""
        return QSize(self._wide(self._whole), self.fontMetrics().height())

    def minimumSizeHint(self) -> QSize:
        """Room for the numbers."""
        return QSize(self._wide(self._numbers), self.fontMetrics().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw."""
        painter = QPainter(self)
        painter.setPen(self._color)
        painter.drawText(self.rect(), Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, self.text())
        painter.end()

    def _wide(self, text: str) -> int:
        """Room for a text, the same for all numbers of as many digits."""
        metrics = self.fontMetrics()
        return max(metrics.horizontalAdvance(text), metrics.horizontalAdvance(re.sub(r"\d", "0", text))) + 1


class ContextMeter(QWidget):
    """ "used / limit" with a bar, and a sentence when it gets tight."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.used = self.limit = self.reply = 0
        self._alone = False
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(GAP_SMALL)
        self._bar = Bar()
        self._label = Counts()
        row.addWidget(self._bar)
        row.addWidget(self._label)
        row.addStretch(1)
        self.restyle()
        self.clear()

    def clear(self) -> None:
        """Nothing is known."""
        self.used = self.limit = 0
        self._show()

    def set_count(self, used: int, limit: int, reply: int = 0, alone: bool = False) -> None:
        """Tokens of the prompt as it would be sent, the model's context length, and the longest reply, which needs room
        too; `alone`: the prompt is a single message."""
        self.used, self.limit, self.reply, self._alone = used, limit, reply, alone
        self._show()

    @property
    def room(self) -> int:
        """Most tokens the prompt may take before the oldest messages leave."""
        return prompt_room(self.limit, self.reply)

    def notice(self) -> str:
        """A sentence when the context is nearly full or over; "" otherwise."""
        if not self.limit:
            return ""
        if self.used > self.room and self._alone:
            return f"This message does not fit: it may take {self.room} tokens. Shorten it or the system prompt."
        if self.used > self.room:
            return (
                "The context is full: the oldest messages will be left out of the next prompt (they stay in the chat)."
            )
        if self.used >= NEARLY * self.room:
            left = self.room - self.used
            return f"The context is nearly full: {left} tokens are left for the prompt; then the oldest messages leave."
        return ""

    def restyle(self) -> None:
        """Take the theme's colours and size."""
        self._label.setFont(theme().font(0.85))
        self._show()

    def _show(self) -> None:
        known = self.limit > 0
        self._bar.setVisible(known)
        share = self.used / self.limit if known else 0.0
        full = known and self.used > self.room
        role = "danger" if full else "warning" if self.notice() else "accent"
        self._bar.share, self._bar.role = share, role
        self._bar.update()
        numbers = f"{self.used:,} / {self.limit:,}".replace(",", "\u202f") if known else ""
        self._label.say(numbers, "tokens", theme().color("muted" if role == "accent" else role))
        words = f"{self.used} of {self.limit} tokens of the context are used" if known else "not known yet"
        self.setAccessibleName(f"Context: {words}")
        kept = f" {self.limit - self.room} are kept free for the reply." if known else ""
        self.setToolTip(f"Context: {words}.{kept} {self.notice()}".strip())
