"""System prompt and sampling of one conversation, each value with its range and its reset."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import (
    QAbstractSpinBox,
    QDoubleSpinBox,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from app.chat.fields import DecimalField, Field, SeedField, StopField, WholeField
from app.chat.look import small_button
from app.seed import with_new_seed
from app.theme import GAP, GAP_SMALL, theme
from engine import CHAT_SAMPLING, RANGES, ConfigError, EngineConfig, SamplingConfig

SAVE_MS = 400  # after the last key
LABELS = {
    "temperature": "Temperature",
    "top_k": "Top-k",
    "top_p": "Top-p",
    "min_p": "Min-p",
    "repetition_penalty": "Repetition penalty",
    "seed": "Seed",
    "max_new_tokens": "Longest reply",
    "stop": "Stop strings",
}
STOP_HELP = "The reply ends before any of these; one per line, \\n for a line end."


def check_sampling(values: dict[str, Any]) -> None:
    """Raise `ConfigError` where stored or imported values cannot be used."""
    read(values, SamplingConfig(), EngineConfig().max_new_tokens)


def read(values: dict[str, Any], defaults: SamplingConfig, max_new_tokens: int) -> tuple[SamplingConfig, int]:
    """Sampling and longest reply from the values that differ from the defaults; without a seed, the default's."""
    rest = {name: value for name, value in values.items() if (name, value) != ("seed", None)}
    longest = rest.pop("max_new_tokens", max_new_tokens)
    if "stop" in rest and isinstance(rest["stop"], list):
        rest["stop"] = tuple(rest["stop"])
    known = {name: getattr(defaults, name) for name in LABELS if name != "max_new_tokens"}
    sampling = SamplingConfig.from_mapping({**known, **rest})
    return sampling, EngineConfig(max_new_tokens=longest).max_new_tokens


class SamplingPanel(QWidget):
    """Fields for one conversation; values equal to the default are not kept, so a better default reaches old chats.

    Signals:
        prompt_changed: the system prompt, a moment after the last key.
        sampling_changed: the values that differ from the defaults.

    Attributes:
        loading: the fields are being filled, not edited.
    """

    prompt_changed = Signal(str)
    sampling_changed = Signal(dict)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._defaults = CHAT_SAMPLING
        self._longest = EngineConfig().max_new_tokens
        self.loading = False
        outer = QVBoxLayout(self)
        outer.setContentsMargins(GAP, GAP, GAP, GAP)
        outer.setSpacing(GAP_SMALL)
        label = QLabel("System prompt")
        head = QHBoxLayout()
        head.addWidget(label, 1)
        outer.addLayout(head)
        self.prompt = QPlainTextEdit()
        self.prompt.setTabChangesFocus(True)
        self.prompt.setPlaceholderText("None: the model's own template decides.")
        self.prompt.setAccessibleName("System prompt")
        self.prompt.setToolTip("What the model is told before the conversation; acts at the next reply.")
        self.prompt.setMaximumHeight(110)
        label.setBuddy(self.prompt)
        outer.addWidget(self.prompt)
        self.prompt_reset = QPushButton("Reset")
        self.prompt_reset.setAccessibleName("Reset the system prompt")
        self.prompt_reset.setToolTip("No system prompt")
        self.prompt_reset.setAutoDefault(False)
        self.prompt_reset.clicked.connect(self.prompt.clear)
        self._grid = QGridLayout()
        self._grid.setHorizontalSpacing(GAP)
        self._grid.setVerticalSpacing(GAP_SMALL)
        self._grid.setColumnStretch(1, 1)
        head.addWidget(self.prompt_reset)
        outer.addLayout(self._grid)
        self.fields: dict[str, Field] = {}
        for row, name in enumerate(LABELS, 1):
            self._add(row, name)
        outer.addStretch(1)
        self._prompt_timer = QTimer(self, interval=SAVE_MS, singleShot=True)
        self._prompt_timer.timeout.connect(self._send_prompt)
        self._timer = QTimer(self, interval=SAVE_MS, singleShot=True)
        self._timer.timeout.connect(self._send_sampling)
        self.prompt.textChanged.connect(self._prompt_edited)
        theme().changed.connect(self.restyle)
        self.load("", {})
        self.restyle()

    def set_defaults(self, sampling: SamplingConfig, max_new_tokens: int) -> None:
        """The values that Reset goes back to, and that apply where the conversation has none."""
        values = self.values()
        self._defaults, self._longest = sampling, max_new_tokens
        self.load(self.prompt.toPlainText(), values)

    def load(self, prompt: str, values: dict[str, Any]) -> None:
        """Show a conversation's settings; a value that cannot be used shows as its default."""
        self.flush()
        self.loading = True
        if prompt != self.prompt.toPlainText():
            self.prompt.setPlainText(prompt)
        for name, field in self.fields.items():
            field.default = self._default(name)
            value = values.get(name, field.default)
            try:
                read({name: value}, self._defaults, self._longest)
            except ConfigError:
                value = field.default
            field.set_value(value)
        self.loading = False
        self._show()

    def values(self) -> dict[str, Any]:
        """The values that differ from the defaults, JSON-able."""
        return {name: field.value() for name, field in self.fields.items() if field.changed()}

    def sampling(self) -> SamplingConfig:
        """Everything about drawing tokens."""
        return read(self.values(), self._defaults, self._longest)[0]

    def sampling_of_reply(self) -> SamplingConfig:
        """The same for one reply, with a new seed unless the conversation has its own."""
        sampling = self.sampling()
        return sampling if self.fields["seed"].changed() else with_new_seed(sampling)

    def max_new_tokens(self) -> int:
        """Longest reply."""
        return read(self.values(), self._defaults, self._longest)[1]

    def flush(self) -> None:
        """Say now what was typed a moment ago."""
        for timer, send in ((self._prompt_timer, self._send_prompt), (self._timer, self._send_sampling)):
            if timer.isActive():
                timer.stop()
                send()

    def restyle(self) -> None:
        """Take the theme's colours and size."""
        look = small_button(theme(), border=True)
        for button in (self.prompt_reset, *(field.reset_button for field in self.fields.values())):
            button.setStyleSheet(look)
        self._show()

    def _add(self, row: int, name: str) -> None:
        label = QLabel(LABELS[name])
        if name == "stop":
            field: Field = StopField(STOP_HELP)
        elif name == "seed":
            field = SeedField(RANGES[name])
        elif name in ("top_k", "max_new_tokens"):
            field = WholeField(RANGES[name])
        else:
            field = DecimalField(RANGES[name])
        field.widget.setAccessibleName(LABELS[name])
        label.setToolTip(field.help)
        field.widget.setToolTip(field.help)
        label.setBuddy(field.widget)
        field.reset_button.setAccessibleName(f"Reset {LABELS[name]}")
        field.edited.connect(self._edited)
        self._grid.addWidget(label, row, 0)
        self._grid.addWidget(field.widget, row, 1)
        self._grid.addWidget(field.reset_button, row, 2)
        self.fields[name] = field

    def _default(self, name: str) -> Any:
        if name in ("max_new_tokens", "seed"):
            return self._longest if name == "max_new_tokens" else None
        value: Any = getattr(self._defaults, name)
        return list(value) if name == "stop" else value

    def _edited(self) -> None:
        if not self.loading:
            self._show()
            self._timer.start()

    def _prompt_edited(self) -> None:
        if not self.loading:
            self._show()
            self._prompt_timer.start()

    def _send_prompt(self) -> None:
        self.prompt_changed.emit(self.prompt.toPlainText())

    def _send_sampling(self) -> None:
        self.sampling_changed.emit(self.values())

    def _show(self) -> None:
        self.prompt_reset.setEnabled(bool(self.prompt.toPlainText()))
        greedy = self.fields["temperature"].value() == 0
        for name, field in self.fields.items():
            field.reset_button.setEnabled(field.changed())
            field.reset_button.setToolTip(f"Back to {field.text_of(field.default)}")
            if name in ("top_k", "top_p", "min_p", "seed"):
                field.widget.setToolTip(f"{field.help} No effect at temperature 0." if greedy else field.help)
                _dim(field.widget, greedy)


def _dim(widget: QWidget, dim: bool) -> None:
    """Show that a value has no effect; it stays editable."""
    if isinstance(widget, QAbstractSpinBox | QSpinBox | QDoubleSpinBox | QLineEdit):
        color = theme().color("muted" if dim else "text").name()
        size = f" font-size: {theme().font_size}pt;"  # a field with a sheet would not follow the text size
        look = f"color: {color};{size}" + (" font-style: italic;" if dim else "")
        if look != widget.styleSheet():  # dear, and every opening of a chat comes by here
            widget.setStyleSheet(look)
