"""The words beside the mouse: what a chart shows at that place. Knows no chart and no numbers."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QWidget

from app.theme import GAP_SMALL, theme


class HoverValue(QLabel):
    """Lies over a plot, in the upper corner that the mouse is not in, and lets the mouse through."""

    def __init__(self, plot: QWidget) -> None:
        super().__init__(plot)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()

    def say(self, text: str) -> None:
        """Show these lines; "" hides it."""
        self.setText(text)
        self.setVisible(bool(text))

    def avoid(self, x: float) -> None:
        """Stand in the corner away from a mouse at `x`, in pixels of the plot."""
        self.adjustSize()
        width = self.parentWidget().width()
        left = x > width / 2
        self.move(GAP_SMALL if left else width - self.width() - GAP_SMALL, GAP_SMALL)

    def restyle(self) -> None:
        """Follow the theme."""
        self.setFont(theme().font(0.85))
        raised, line = theme().color("raised").name(), theme().color("line").name()
        self.setStyleSheet(f"background: {raised}; border: 1px solid {line}; padding: 3px;")
