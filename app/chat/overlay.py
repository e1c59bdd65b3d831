"""What lies over the column of messages: a hint while it is empty, and the pill that leads to new text at the end."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtWidgets import QLabel, QPushButton

from app.chat.flow import Flow
from app.theme import GAP, theme

EMPTY = "Ask something below. The reply appears here, and its draft trees beside it."


class Overlay(QObject):
    """Keeps both in place.

    Signals:
        end_wanted: the pill was pressed.
    """

    end_wanted = Signal()

    def __init__(self, flow: Flow) -> None:
        super().__init__(flow)
        self._flow = flow
        self.hint = QLabel(EMPTY, flow)
        self.hint.setWordWrap(True)
        self.hint.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.pill = QPushButton("↓ new text", flow.parentWidget())
        self.pill.setAccessibleName("Go to the new text at the end")
        self.pill.setToolTip("Go to the end and follow it (End)")
        self.pill.setCursor(Qt.CursorShape.PointingHandCursor)
        self.pill.clicked.connect(self.end_wanted)
        self.pill.hide()
        flow.following_changed.connect(self._following_changed)
        flow.installEventFilter(self)

    def show_pill(self) -> None:
        """There is text below what is seen."""
        if self.pill.isHidden():
            self.pill.show()
            self.pill.raise_()
            self._place()

    def restyle(self) -> None:
        """Take the theme's colours and size."""
        color = {name: theme().color(name).name() for name in ("accent", "on_accent", "line", "text", "muted")}
        self.hint.setStyleSheet(f"color: {color['muted']}; background: transparent;")
        self.pill.setStyleSheet(
            f"QPushButton {{ background: {color['accent']}; color: {color['on_accent']};"
            f" border: 1px solid {color['line']}; border-radius: 13px; padding: 4px 14px; }}"
            f"QPushButton:focus {{ border: 2px solid {color['text']}; }}"
        )

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Follow the column's size and place."""
        if watched is self._flow and event.type() in (QEvent.Type.Resize, QEvent.Type.Move):
            self._place()
        return super().eventFilter(watched, event)

    def _place(self) -> None:
        margin, flow = 4 * GAP, self._flow
        self.hint.setGeometry(flow.rect().adjusted(margin, margin, -margin, -margin))
        self.pill.adjustSize()
        self.pill.move(
            (flow.viewport().width() - self.pill.width()) // 2, flow.geometry().bottom() - self.pill.height() - GAP
        )

    def _following_changed(self, following: bool) -> None:
        if following:
            self.pill.hide()
