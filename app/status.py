"""The line at the bottom: what decodes and why, how fast, how well, how full; and how far a long step is."""

from __future__ import annotations

import math

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QProgressBar, QPushButton, QSizePolicy, QWidget

from app.progress_words import amount
from app.steady_label import SteadyLabel
from app.theme import GAP, GAP_LARGE, theme
from engine import Progress, Turn

TAU_HELP = (
    "τ, the acceptance length: emitted tokens per round, the target's own (bonus) token included.\n"
    "1 is plain decoding; each accepted draft token adds to it."
)
STRATEGY_WORDS = {"plain": "plain decoding", "eagle": "EAGLE-3 tree", "mtp": "MTP chain", "lookahead": "lookahead"}


class StatusLine(QWidget):
    """Left: strategy and its reason, or progress with Cancel. Right: numbers of the shown turn.

    Signals:
        cancel_requested(): stop the long step that is shown.
    """

    cancel_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName("Status")
        self.state = QLabel()
        self.state.setTextFormat(Qt.TextFormat.PlainText)
        self.state.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.bar = QProgressBar(textVisible=False, maximumWidth=160, maximumHeight=10)
        self.bar.setAccessibleName("Progress")
        self.cancel = QPushButton("Cancel")
        self.cancel.setAutoDefault(False)
        self.cancel.clicked.connect(self.cancel_requested)
        self.strategy = QLabel()
        self.strategy.setTextFormat(Qt.TextFormat.PlainText)
        self.speed, self.tau, self.gain, self.context = (SteadyLabel() for _ in range(4))
        self.tau.setToolTip(TAU_HELP)
        self.speed.setToolTip("Emitted tokens per second of round time; reading the prompt is not counted.")
        row = QHBoxLayout(self)
        row.setContentsMargins(GAP, 0, GAP, 0)
        row.setSpacing(GAP)
        row.addWidget(self.state, 1)
        for widget in (self.bar, self.cancel):
            row.addWidget(widget)
            widget.hide()
        row.addStrut(self.cancel.sizeHint().height())  # or the whole window would move when it comes and goes
        for label in (self.strategy, self.speed, self.tau, self.gain, self.context):
            row.addSpacing(GAP_LARGE - GAP)
            row.addWidget(label)
        self._plain_ms: float | None = None
        self._plain_reason = "not measured yet"
        self._turn: Turn | None = None
        self._mine = False
        self._rounds, self._emitted, self._ms = 0, 0, 0.0  # of `_turn`, as far as it was read
        self._drafting = False  # some round of it was not plain by choice or by need
        self.show_turn(None)
        theme().changed.connect(self.refresh)  # colours are set by hand

    def set_state(self, text: str) -> None:
        """One sentence on the left."""
        self.state.setText(text)
        self.state.setToolTip(text)
        self.bar.hide()
        self.cancel.hide()

    def set_progress(self, progress: Progress) -> None:
        """A long step on the left, with a bar and Cancel."""
        self.state.setText(f"{progress.step}{'  ' + amount(progress) if amount(progress) else ''}")
        self.bar.setRange(0, 1000 if progress.total > 0 else 0)
        if progress.total > 0:
            self.bar.setValue(int(1000 * min(1.0, progress.done / progress.total)))
        self.bar.setAccessibleDescription(self.state.text())
        self.bar.show()
        self.cancel.show()

    def set_plain(self, ms: float | None, reason: str = "") -> None:
        """Calibrated milliseconds of a plain pass of the loaded model, or why there are none."""
        self._plain_ms, self._plain_reason = ms, reason
        self.refresh()

    def show_turn(self, turn: Turn | None, mine: bool = False) -> None:
        """Show the numbers of a turn; `mine`: it ran here and now, so the calibration applies to it."""
        if turn is not self._turn:
            self._rounds, self._emitted, self._ms, self._drafting = 0, 0, 0.0, False
        self._turn, self._mine = turn, mine
        self.refresh()

    def refresh(self) -> None:
        """Numbers of what the turn holds now."""
        turn = self._turn
        has = turn is not None and turn.start is not None
        for label in (self.strategy, self.speed, self.tau, self.gain, self.context):
            label.setVisible(has)
        if turn is None or turn.start is None:
            return
        start = turn.start
        self._read(turn)
        speed = 1000 * self._emitted / self._ms if self._ms > 0 else math.nan
        name = turn.rounds[-1].settings.strategy if turn.rounds else start.strategy  # it may be changed under way
        reason = start.reason if name == start.strategy else ""
        words = STRATEGY_WORDS.get(name, name)
        self.strategy.setText(f"plain: {reason}" if reason else words)
        self.strategy.setToolTip(reason or f"The newest round ran with {words}.")
        color = theme().color("warning" if reason else "text").name()
        _colour(self.strategy, f"color: {color};")
        self.speed.setText("– tokens/s" if math.isnan(speed) else f"{speed:.1f} tokens/s")
        self.tau.setText(f"τ {self._emitted / self._rounds:.2f}" if self._rounds else "τ –")
        self._show_gain(speed)
        first = turn.prefill is not None and turn.prefill.first.id >= 0
        used = start.prompt_tokens + self._emitted + first
        self.context.setText(f"context {used} / {start.context_length}")
        self.context.setToolTip("Tokens of the prompt and this reply, of what the model can hold.")

    def _read(self, turn: Turn) -> None:
        for shown in turn.rounds[self._rounds :]:
            self._emitted += len(shown.emitted)
            self._ms += shown.timings.total
            self._drafting |= shown.settings.strategy != "plain"
        self._rounds = len(turn.rounds)

    def _show_gain(self, speed: float) -> None:
        if not self._mine or not self._drafting:
            self.gain.setVisible(False)
        elif self._plain_ms is None:
            self.gain.setText("speed-up –")
            self.gain.setToolTip(f"Needs the cost of plain decoding on this machine: {self._plain_reason}.")
        elif math.isnan(speed):
            self.gain.setText("speed-up –")
            self.gain.setToolTip("No round yet.")
        else:
            gain = speed * self._plain_ms / 1000
            self.gain.setText(f"{gain:.2f}× plain")
            slower = " Here speculation costs more than it saves." if gain < 1 else ""
            self.gain.setToolTip(
                f"Measured: {speed:.1f} tokens/s, against {1000 / self._plain_ms:.1f} of plain decoding "
                f"({self._plain_ms:.1f} ms a token, measured when the model was loaded).{slower}"
            )
            _colour(self.gain, f"color: {theme().color('warning' if slower else 'success').name()};")
            return
        _colour(self.gain, "")


def _colour(label: QLabel, sheet: str) -> None:
    """Set a style sheet if it is another one: styling is dear, and numbers come several times a second. It names the
    text size, which a label with a sheet would not follow."""
    sheet += f" font-size: {theme().font_size}pt;"
    if label.styleSheet() != sheet:
        label.setStyleSheet(sheet)
