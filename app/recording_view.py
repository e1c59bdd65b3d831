"""A recorded run as a conversation to look at: its prompt, its reply with the origin of every token, and Play."""

from __future__ import annotations

import re

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeySequence, QResizeEvent, QShortcut
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QSizePolicy, QVBoxLayout, QWidget

from app.chat.conversation import ConversationView
from app.chat.pane_keys import bind_zoom
from app.chat.stats import message_stats
from app.icons import icon
from app.selection import Selection
from app.store import Message
from app.theme import GAP, GAP_SMALL, theme
from engine import Turn

CHATML = re.compile(r"<\|im_start\|>(\w+)\n(.*?)(?:<\|im_end\|>|$)", re.DOTALL)


class RecordingView(QWidget):
    """Signals:
    play_wanted(): play or hold the recording.
    closed(): back to the chats.
    """

    play_wanted = Signal()
    closed = Signal()

    def __init__(self, selection: Selection, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName("Recorded run")
        self.turn: Turn | None = None
        self._playing = False
        self.name = ""
        self.view = ConversationView(selection)
        self.title = QLabel()
        self.title.setTextFormat(Qt.TextFormat.PlainText)
        self.title.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.play = QPushButton("Play")
        self.play.setToolTip("Walk through the rounds in slow motion")
        self.close_button = QPushButton("Close")
        self.close_button.setToolTip("Back to the chats")
        self.play.clicked.connect(self.play_wanted)
        self.close_button.clicked.connect(self.closed)
        self.bar = QFrame()
        self.bar.setObjectName("bar")
        row = QHBoxLayout(self.bar)
        row.setContentsMargins(GAP, GAP_SMALL, GAP, GAP_SMALL)
        row.setSpacing(GAP)
        row.addWidget(self.title, 1)
        for button in (self.play, self.close_button):
            button.setAutoDefault(False)
            row.addWidget(button)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.bar)
        layout.addWidget(self.view, 1)
        bind_zoom(self)
        QShortcut(QKeySequence(QKeySequence.StandardKey.Find), self).activated.connect(self.view.open_find)
        theme().changed.connect(self._restyle)
        self._restyle()

    def show_turn(self, turn: Turn, name: str) -> None:
        """Show a recorded run; `name` says where it is from."""
        self.turn, self.name = turn, name
        model = turn.start.model if turn.start else ""
        self.title.setToolTip(f"Recorded run: {name}" + (f", {model}" if model else ""))
        self._fit_title()
        messages = recorded_messages(turn)
        self.view.set_messages(messages, at_end=False, at=messages[0].id)  # the first round is shown first
        self.view.set_turn(messages[-1].id, turn)
        self.view.set_provenance(True)
        self.view.set_busy(True)  # nothing of it can be asked again

    def set_playing(self, playing: bool) -> None:
        """What the button does next."""
        self._playing = playing
        self.play.setText("Hold" if playing else "Play")
        self._restyle()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Say as much of the title as there is room for."""
        super().resizeEvent(event)
        self._fit_title()

    def _fit_title(self) -> None:
        buttons = self.play.sizeHint().width() + self.close_button.sizeHint().width()
        room = self.width() - buttons - 4 * GAP
        whole = f"Recorded run: {self.name}"
        metrics = self.title.fontMetrics()
        words = whole if metrics.horizontalAdvance(whole) <= room else self.name
        self.title.setText(metrics.elidedText(words, Qt.TextElideMode.ElideRight, room))

    def _restyle(self) -> None:
        self.title.setFont(theme().font(bold=True))
        self._fit_title()
        self.play.setIcon(icon("hold" if self._playing else "play", theme().color("text"), theme().color("muted")))
        self.bar.setStyleSheet(
            f"#bar {{ background: {theme().color('accent_soft').name()};"
            f" border-bottom: 1px solid {theme().color('line').name()}; }}"
        )


def recorded_messages(turn: Turn) -> list[Message]:
    """The prompt's messages and the reply, as the conversation shows them; ids are negative, the store has none."""
    prompt = turn.start.prompt_text if turn.start else ""
    parts = [(role, text) for role, text in CHATML.findall(prompt) if role in ("user", "assistant") and text.strip()]
    parts = parts or [("user", prompt or "(the prompt is not part of this recording)")]
    reason = turn.end.finish_reason if turn.end else "cancelled"
    messages = [Message(-2 - i, 0, None, role, text, 0.0, "stop_token", {}) for i, (role, text) in enumerate(parts)]
    reply = Message(-1, 0, None, "assistant", turn.text, 0.0, reason, message_stats(turn), has_trace=True)
    return [*messages, reply]
