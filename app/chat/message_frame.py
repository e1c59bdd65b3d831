"""What a message stands in: a frame as tall as its content, with a place in the Tab order. Knows no message."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QLabel, QSizePolicy, QVBoxLayout, QWidget

from app.chat.look import muted
from app.theme import GAP, GAP_SMALL


class MessageFrame(QFrame):
    """Its looks are in `look.conversation`.

    Attributes:
        user: it is a prompt, which has a ground of its own.
        column: the layout of the content, from top to bottom.
    """

    def __init__(self, user: bool, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.user = user
        self.setObjectName("message")
        self.setProperty("user", user)
        self.setAttribute(Qt.WidgetAttribute.WA_StaticContents, not user)  # a reply grows at its end
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.column = QVBoxLayout(self)
        self.column.setContentsMargins(GAP + GAP_SMALL, GAP, GAP + GAP_SMALL, GAP)
        self.column.setSpacing(GAP_SMALL)

    def add_line(self) -> QLabel:
        """A line of words of second rank below the rest, hidden while it says nothing."""
        line = muted()
        line.setWordWrap(True)
        line.hide()
        self.column.addWidget(line)
        return line

    def put_before(self, widget: QWidget, other: QWidget) -> None:
        """Add a widget above another one."""
        self.column.insertWidget(self.column.indexOf(other), widget)

    def take_out(self, widget: QWidget) -> None:
        """Remove a widget for good."""
        self.column.removeWidget(widget)
        widget.hide()
        widget.deleteLater()

    def focus_chain(self) -> list[QWidget]:
        """Everything that takes the focus by Tab, in reading order."""
        inside = (w for w in self.findChildren(QWidget) if not w.focusProxy())
        return [self, *(w for w in inside if w.focusPolicy() & Qt.FocusPolicy.TabFocus)]

    def heightForWidth(self, width: int) -> int:
        """Height of the content at a width."""
        if self.column.hasHeightForWidth():
            return self.column.totalHeightForWidth(width)
        return self.column.totalSizeHint().height()  # nothing in it wraps: code alone, or no text at all

    def hasHeightForWidth(self) -> bool:
        """Height depends on width."""
        return True

    def resizeEvent(self, event: QResizeEvent) -> None:
        """The frame of the focus is drawn anew."""
        super().resizeEvent(event)
        if self.hasFocus():
            self.update()
