"""The line above a message: who, when, which version of how many, and what can be done. Does nothing of it itself."""

from __future__ import annotations

import time

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QLayout, QPushButton, QWidget

from app.chat.look import muted
from app.store import Message
from app.theme import GAP_SMALL, theme

COPIED_MS = 1500
AGAIN, AGAIN_SIGN = "Regenerate", "↻"
BUSY = "Wait for the running reply or stop it first"


class MessageHeader(QWidget):
    """Where the line is too short for everything, the time goes first: it is in the tooltip of who. Then Regenerate
    becomes a sign, and at last who goes too, which colours and tooltips still say.

    Signals:
        step: show the previous (-1) or next (+1) version.
        rounds, copied, edit, again: the button of that name was pressed.
    """

    step = Signal(int)
    rounds = Signal()
    copied = Signal()
    edit = Signal()
    again = Signal()

    def __init__(self, message: Message, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.user = message.role == "user"
        self.name = "You" if self.user else "Assistant"
        self.who = QLabel(self.name)
        self.time = muted()
        if message.created:  # recorded runs do not say when
            moment = time.localtime(message.created)
            self.time.setText(time.strftime("%H:%M", moment))
            self.time.setToolTip(time.strftime("%A %d %B %Y, %H:%M:%S", moment))
            self.who.setToolTip(self.time.toolTip())
        self.previous_button = self._button("‹", "Show the previous version (←)", lambda: self.step.emit(-1))
        self.count = muted()
        self.next_button = self._button("›", "Show the next version (→)", lambda: self.step.emit(1))
        self.rounds_button = self._button("Rounds", "Show the draft trees of this reply", self.rounds)
        self.copy_button = self._button("Copy", "Copy this message (C)", self.copied)
        self.edit_button = self._button("Edit", "Edit and send again as a new branch (E)", self.edit)
        self.again_button = self._button(AGAIN, "Make another version of this reply (R)", self.again)
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(0, 0, 0, 0)
        self._row.setSpacing(GAP_SMALL)
        self._row.setSizeConstraint(QLayout.SizeConstraint.SetNoConstraint)
        self._row.addWidget(self.who)
        self._row.addWidget(self.time)
        self._row.addStretch(1)
        for widget in (self.previous_button, self.count, self.next_button):
            self._row.addWidget(widget)
        for button in self.buttons()[2:]:
            self._row.addWidget(button)
        self._has_width = False
        self._copied = QTimer(self, interval=COPIED_MS, singleShot=True)
        self._copied.timeout.connect(self._reset_copy)

    def buttons(self) -> list[QPushButton]:
        """In tab order."""
        return [
            self.previous_button,
            self.next_button,
            self.rounds_button,
            self.copy_button,
            self.edit_button,
            self.again_button,
        ]

    def show_state(self, message: Message, running: bool) -> None:
        """What can be done with the message now."""
        several = message.versions > 1
        self.count.setText(f"{message.version}/{message.versions}")
        for widget in (self.previous_button, self.count, self.next_button):
            widget.setVisible(several)
        self.previous_button.setEnabled(message.version > 1)
        self.next_button.setEnabled(message.version < message.versions)
        self.rounds_button.setVisible(message.has_trace)
        kept = message.chat != 0  # what a recording shows belongs to no chat: nothing of it can be asked again
        self.edit_button.setVisible(self.user and kept)
        self.again_button.setVisible(not self.user and not running and kept)
        when = f", {time.strftime('%H:%M', time.localtime(message.created))}" if message.created else ""
        for button in self.buttons():
            label = button.property("label")
            label = {"‹": "Previous version", "›": "Next version"}.get(label, label)
            button.setAccessibleName(f"{label}: {self.name}{when}")
        self._fit()

    def set_busy(self, busy: bool) -> None:
        """While a reply is running nothing else can be asked for."""
        for button in (self.again_button, self.edit_button):
            button.setEnabled(not busy)
            button.setToolTip(BUSY if busy else button.property("help"))

    def show_copied(self) -> None:
        """Say for a moment that the text is on the clipboard."""
        self.copy_button.setText("Copied ✓")
        self._copied.start()
        self._fit()

    def restyle(self) -> None:
        """Take the theme's size."""
        small = theme().font(0.85)
        for widget in (self.time, self.count, *self.buttons()):
            widget.setFont(small)
        self.who.setFont(theme().font(0.95, bold=True))
        self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Lay out for the new width."""
        super().resizeEvent(event)
        self._has_width = True
        self._fit()

    def _fit(self) -> None:
        """Leave out as little as possible; before the first layout there is no place to judge."""
        for left_out in range(4 if self._has_width else 0):
            self.time.setVisible(bool(self.time.text()) and left_out < 1)
            self.again_button.setText(AGAIN if left_out < 2 else AGAIN_SIGN)
            self.who.setVisible(left_out < 3)
            shown = [w for w in (self.who, self.time, self.count, *self.buttons()) if not w.isHidden()]
            if sum(w.sizeHint().width() + GAP_SMALL for w in shown) + GAP_SMALL <= self.width():
                return

    def _button(self, text: str, tip: str, call: object) -> QPushButton:
        button = QPushButton(text, self)
        button.setAutoDefault(False)
        button.setToolTip(tip)
        button.setProperty("help", tip)
        button.setProperty("label", text)
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        button.clicked.connect(call)
        return button

    def _reset_copy(self) -> None:
        self.copy_button.setText("Copy")
        self._fit()
