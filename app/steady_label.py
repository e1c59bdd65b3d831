"""A label for numbers that change several times a second. Knows nothing of what they count."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt
from PySide6.QtWidgets import QLabel, QWidget


class SteadyLabel(QLabel):
    """Its room grows with the text and does not shrink: what stands beside it stays where it is, and as long as the
    room suffices nothing of the window is laid out anew. A label of fixed size asks no layout for another."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setTextFormat(Qt.TextFormat.PlainText)

    def setText(self, text: str) -> None:
        """Show this."""
        if text != self.text():
            super().setText(text)
            self._fit()

    def changeEvent(self, event: QEvent) -> None:
        """Another font needs another room, maybe less."""
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self.setMinimumSize(0, 0)
            self._fit()

    def _fit(self) -> None:
        wanted = self.sizeHint()  # never below the minimum
        if wanted != self.minimumSize():
            self.setFixedSize(wanted)
