"""Where a prompt is written: text, Send or Stop, how full the context is, files dropped in."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QMimeData, QTimer, Signal
from PySide6.QtGui import QResizeEvent, QTextCursor
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from app.chat.context_meter import ContextMeter
from app.chat.look import main_button
from app.chat.text_input import TextInput
from app.theme import GAP, GAP_SMALL, theme

COUNT_MS = 200  # after the last key before tokens are counted
LARGEST = 256 * 1024  # bytes of a dropped file
HINTS = (  # the longest that fits into the field
    "Write a message. Enter sends, Shift+Enter starts a new line.",
    "Write a message. Enter sends.",
    "Write here",
)


class DropInput(TextInput):
    """Takes text files dropped on it.

    Signals:
        dropped: paths of the files.
    """

    dropped = Signal(list)

    def canInsertFromMimeData(self, source: QMimeData) -> bool:
        """Files and text."""
        return source.hasUrls() or super().canInsertFromMimeData(source)

    def insertFromMimeData(self, source: QMimeData) -> None:
        """Announce files, insert text without its format."""
        files = [url.toLocalFile() for url in source.urls() if url.isLocalFile()]
        if files:
            self.dropped.emit(files)
        elif source.hasText():
            self.insertPlainText(source.text())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Choose the words in the empty field."""
        super().resizeEvent(event)
        self.fit_hint()

    def fit_hint(self) -> None:
        """Show the longest words that fit."""
        room, metrics = self.viewport().width() - 2 * GAP, self.fontMetrics()
        fitting = (hint for hint in HINTS if metrics.horizontalAdvance(hint) <= room)
        self.setPlaceholderText(next(fitting, HINTS[-1]))


class Composer(QWidget):
    """The composer.

    Signals:
        sent: the text, not blank; the field keeps it.
        stop_requested: stop the running reply.
        draft_changed: the text changed a moment ago; time to count tokens.
        problem: one sentence about a dropped file.
        edit_last, escaped: Up was pressed in an empty field; Escape, and there was nothing to stop.
    """

    sent = Signal(str)
    stop_requested = Signal()
    draft_changed = Signal()
    problem = Signal(str)
    edit_last = Signal()
    escaped = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._busy = False
        self._stopping = False
        self._blocked = ""
        outer = QVBoxLayout(self)
        outer.setContentsMargins(GAP, GAP_SMALL, GAP, GAP)
        outer.setSpacing(GAP_SMALL)
        self._notice = QLabel()
        self._notice.setWordWrap(True)
        self._notice.hide()
        outer.addWidget(self._notice)
        self.input = DropInput(10, self)
        self.input.setAccessibleName("Message")
        self.input.submitted.connect(self.send)
        self.input.cancelled.connect(self._escape)
        self.input.up_when_empty.connect(self.edit_last)
        self.input.dropped.connect(self.add_files)
        self.input.textChanged.connect(self._changed)
        outer.addWidget(self.input)
        row = QHBoxLayout()
        row.setSpacing(GAP)
        self.meter = ContextMeter()
        row.addWidget(self.meter)
        self._state = QLabel()
        self._state.setWordWrap(True)
        row.addWidget(self._state, 1)
        self.button = QPushButton("Send")
        self.button.setAutoDefault(False)
        self.button.clicked.connect(self._pressed)
        row.addWidget(self.button)
        outer.addLayout(row)
        self._count = QTimer(self, interval=COUNT_MS, singleShot=True)
        self._count.timeout.connect(self.draft_changed)
        theme().changed.connect(self.restyle)
        self.restyle()
        self._show()

    @property
    def text(self) -> str:
        """What is written."""
        return self.input.toPlainText()

    def set_text(self, text: str) -> None:
        """Replace what is written."""
        self.input.setPlainText(text)
        self.input.moveCursor(QTextCursor.MoveOperation.End)

    @property
    def stopping(self) -> bool:
        """Whether Stop was pressed and the reply is not over yet."""
        return self._stopping

    def send(self) -> None:
        """Send what is written, if that is possible now."""
        text = self.text.strip()
        if text and not self._busy and not self._blocked:
            self.sent.emit(text)

    def set_busy(self, busy: bool, state: str = "") -> None:
        """Whether a reply is running; the button then stops it. `state` is one line beside it."""
        if busy != self._busy:
            self._stopping = False
        self._busy = busy
        self._say(state)
        self._show()

    def set_blocked(self, reason: str) -> None:
        """Why nothing can be sent ("" when it can): the model is loading, for example. Writing stays possible."""
        self._blocked = reason
        self._show()

    def set_context_count(self, used: int, limit: int, longest_reply: int = 0, alone: bool = False) -> None:
        """Tokens of the prompt as it would be sent, the context length, the room a reply needs; `alone`: the prompt is
        one message, so none before it can leave."""
        self.meter.set_count(used, limit, longest_reply, alone)
        notice = self.meter.notice()
        self._notice.setText(f"⚠ {notice}" if notice else "")
        self._notice.setVisible(bool(notice))

    def add_files(self, paths: list[str]) -> None:
        """Put the text of files at the cursor, each in a fence under its name."""
        for path in paths:
            try:
                text = read_text(Path(path))
            except ValueError as error:
                self.problem.emit(str(error))
                continue
            fence = "```"
            while fence in text:
                fence += "`"
            before = "" if self.input.textCursor().atBlockStart() else "\n"
            self.input.insertPlainText(f"{before}{Path(path).name}:\n{fence}\n{text.rstrip()}\n{fence}\n")
        self.input.setFocus()

    def restyle(self) -> None:
        """Take the theme's colours and size."""
        colors = theme()
        self.input.restyle()
        self.meter.restyle()
        line, accent = colors.color("line").name(), colors.color("accent").name()
        self.input.setStyleSheet(
            f"QPlainTextEdit {{ border: 1px solid {line}; border-radius: 6px; padding: 3px;"
            f" background: {colors.color('surface').name()}; }}"
            f"QPlainTextEdit:focus {{ border: 1px solid {accent}; }}"
        )
        self.input.fit()
        self.input.fit_hint()
        self.button.setStyleSheet(main_button(colors))
        self._notice.setStyleSheet(f"color: {colors.color('warning').name()};")
        self._state.setStyleSheet(f"color: {colors.color('muted').name()};")
        self._state.setFont(colors.font(0.9))

    def _changed(self) -> None:
        self._count.start()
        self._show()

    def _pressed(self) -> None:
        (self._stop if self._busy else self.send)()

    def _escape(self) -> None:
        if self._busy:
            self._stop()
        else:
            self.escaped.emit()

    def _stop(self) -> None:
        if not self._stopping:
            self._stopping = True
            self._show()
            self.stop_requested.emit()

    def _show(self) -> None:
        if self._busy:
            self.button.setText("Stopping…" if self._stopping else "■ Stop")
            self._enable(not self._stopping)
            self.button.setToolTip("Stop the running reply (Esc)")
            self.button.setAccessibleName("Stop the reply")
            return
        self.button.setText("Send")
        self.button.setAccessibleName("Send the message")
        self._enable(bool(self.text.strip()) and not self._blocked)
        self.button.setToolTip(self._blocked or "Send the message (Enter)")
        self._say(self._blocked)

    def _enable(self, on: bool) -> None:
        """A button that rests gives the focus to the field, not to whatever comes next for Tab."""
        if not on and self.button.hasFocus():
            self.input.setFocus()
        self.button.setEnabled(on)

    def _say(self, state: str) -> None:
        """One line in the place of the meter: beside it there is room for half of it."""
        if state != self._state.text():
            self._state.setText(state)
            self.meter.setVisible(not state)


def read_text(path: Path) -> str:
    """The text of a file. Raises `ValueError` with one sentence."""
    try:
        if path.is_dir():
            raise ValueError(f"{path.name} is a folder: drop the text files in it.")
        if path.stat().st_size > LARGEST:
            raise ValueError(f"{path.name} is larger than {LARGEST // 1024} KiB, more than a context can hold.")
        data = path.read_bytes()
    except OSError as error:
        raise ValueError(f"{path.name} could not be read: {error.strerror or error}.") from error
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path.name} is not a text file in UTF-8.") from error
    if "\0" in text:
        raise ValueError(f"{path.name} is not a text file.")
    return text.replace("\r\n", "\n")
