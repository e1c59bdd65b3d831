"""Messages that do not stand in the way: one line each, with actions, above what the user is doing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from PySide6.QtCore import QEvent, Qt, QTimer
from PySide6.QtGui import QAccessible, QAccessibleEvent, QGuiApplication
from PySide6.QtWidgets import (
    QApplication,
    QFrame,
    QHBoxLayout,
    QLabel,
    QPlainTextEdit,
    QPushButton,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)
from shiboken6 import isValid

from app.theme import GAP, GAP_SMALL, theme

Kind = Literal["info", "warning", "error"]
Action = tuple[str, Callable[[], object]]

MARKS: dict[Kind, str] = {"info": "ℹ", "warning": "⚠", "error": "✕"}
COLORS: dict[Kind, str] = {"info": "accent", "warning": "warning", "error": "danger"}
STAY_MS = 12_000  # a message of kind info leaves by itself; the mouse over it holds it
MOST = 3


class Message(QFrame):
    """One message; closes itself after an action."""

    def __init__(
        self, text: str, kind: Kind, actions: Sequence[Action], detail: str, parent: MessageBar, stays: bool = False
    ) -> None:
        super().__init__(parent)
        self.text, self.kind, self.key = text, kind, ""
        self._leaves = kind == "info" and not stays
        self._bar = parent
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setObjectName("message")
        self.setAccessibleName(f"{kind}: {text}")
        outer = QVBoxLayout(self)
        outer.setContentsMargins(GAP, GAP_SMALL, GAP_SMALL, GAP_SMALL)
        outer.setSpacing(GAP_SMALL)
        row = QHBoxLayout()
        row.setSpacing(GAP)
        outer.addLayout(row)
        self._mark = QLabel(MARKS[kind])
        row.addWidget(self._mark)
        label = QLabel(text)
        label.setTextFormat(Qt.TextFormat.PlainText)
        label.setWordWrap(True)
        label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        row.addWidget(label, 1)
        self.buttons: dict[str, QPushButton] = {}
        for name, call in actions:
            self._add_button(row, name, call)
        self.detail: QPlainTextEdit | None = None
        if detail:
            self._add_detail(row, outer, detail)
        self.close_button = QToolButton()
        self.close_button.setText("✕")
        self.close_button.setAutoRaise(True)
        self.close_button.setToolTip("Close this message")
        self.close_button.setAccessibleName("Close this message")
        self.close_button.clicked.connect(self.leave)
        row.addWidget(self.close_button, 0, Qt.AlignmentFlag.AlignTop)
        self._timer = QTimer(self, interval=STAY_MS, singleShot=True)
        self._timer.timeout.connect(self.time_out)
        if self._leaves:
            self._timer.start()
        theme().changed.connect(self._restyle)
        self._restyle()

    def leave(self) -> None:
        """Go away."""
        self._bar.remove(self)

    def time_out(self) -> None:
        """Go away, but not from under the keyboard."""
        if self.has_focus():
            self._timer.start()
        else:
            self.leave()

    def has_focus(self) -> bool:
        """Whether the focus is on one of its buttons or its details."""
        focus = self.window().focusWidget()
        return focus is not None and self.isAncestorOf(focus)

    def event(self, event: QEvent) -> bool:
        """Hold the message while the mouse is on it."""
        if self._leaves and event.type() == QEvent.Type.Enter:
            self._timer.stop()
        elif self._leaves and event.type() == QEvent.Type.Leave:
            self._timer.start()
        return super().event(event)

    def _add_button(self, row: QHBoxLayout, name: str, call: Callable[[], object]) -> None:
        button = QPushButton(name)
        button.setAutoDefault(False)

        def act() -> None:
            self.leave()
            call()

        button.clicked.connect(act)
        row.addWidget(button, 0, Qt.AlignmentFlag.AlignTop)
        self.buttons[name] = button

    def _add_detail(self, row: QHBoxLayout, outer: QVBoxLayout, text: str) -> None:
        self.detail = QPlainTextEdit(text)
        self.detail.setReadOnly(True)
        self.detail.setFont(theme().font(0.9, mono=True))
        self.detail.setFixedHeight(160)
        self.detail.setAccessibleName("Details")
        self.detail.hide()
        for name, call in (("Details", self._toggle_detail), ("Copy", self._copy)):
            button = QPushButton(name)
            button.setAutoDefault(False)
            button.clicked.connect(call)
            row.addWidget(button, 0, Qt.AlignmentFlag.AlignTop)
            self.buttons[name] = button
        outer.addWidget(self.detail)

    def _toggle_detail(self) -> None:
        assert self.detail is not None
        self.detail.setVisible(self.detail.isHidden())

    def _copy(self) -> None:
        assert self.detail is not None
        QGuiApplication.clipboard().setText(f"{self.text}\n\n{self.detail.toPlainText()}")

    def _restyle(self) -> None:
        color = theme().color(COLORS[self.kind]).name()
        self.setStyleSheet(
            f"#message {{ background: {theme().color('surface').name()}; border-left: 4px solid {color};"
            f" border-bottom: 1px solid {theme().color('line').name()}; }}"
        )
        self._mark.setStyleSheet(f"color: {color}; font-weight: bold;")


class MessageBar(QWidget):
    """Up to three messages, newest below; an older one gives way, errors last.

    The focus goes back to where it was when the last message that had it is closed.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(0)
        self.messages: list[Message] = []
        self._before: QWidget | None = None  # had the focus before a message had it
        app = QApplication.instance()
        assert isinstance(app, QApplication)
        app.focusChanged.connect(self._focus_moved)
        self.setAccessibleName("Messages")
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self.hide()

    def show_message(
        self,
        text: str,
        kind: Kind = "info",
        *,
        actions: Sequence[Action] = (),
        detail: str = "",
        key: str = "",
        stays: bool = False,
    ) -> Message:
        """Show one sentence. A message with the same `key` is replaced; the same text is not shown twice. `stays`: good
        news that is there until it is dismissed."""
        for old in [m for m in self.messages if (key and m.key == key) or m.text == text]:
            self.remove(old)
        while len(self.messages) >= MOST:
            self.remove(next((m for m in self.messages if m.kind == "info"), self.messages[0]))
        message = Message(text, kind, actions, detail, self, stays)
        message.key = key
        self.messages.append(message)
        self._layout.addWidget(message)
        self.show()
        QAccessible.updateAccessibility(QAccessibleEvent(message, QAccessible.Event.Alert))
        return message

    def dismiss(self, key: str) -> None:
        """Remove the message with that key, if it is there."""
        for message in [m for m in self.messages if m.key == key]:
            self.remove(message)

    def clear(self) -> None:
        """Remove all."""
        for message in list(self.messages):
            self.remove(message)

    def remove(self, message: Message) -> None:
        """Remove one; harmless when it is gone already."""
        if message in self.messages:
            focused = message.has_focus()
            self.messages.remove(message)
            self._layout.removeWidget(message)
            if focused:
                self._lead_on()
            message.hide()
            message.deleteLater()
            self.setVisible(bool(self.messages))

    def _lead_on(self) -> None:
        """Put the focus on the next message, or where it was before."""
        if self.messages:
            self.messages[-1].close_button.setFocus()
        elif self._before is not None and isValid(self._before) and self._before.isVisible():
            self._before.setFocus()

    def _focus_moved(self, old: QWidget | None, new: QWidget | None) -> None:
        if new is not None and old is not None and self.isAncestorOf(new) and not self.isAncestorOf(old):
            self._before = old
