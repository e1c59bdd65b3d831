"""One setting: name, slider, number, range, default with a reset, and what the shown round used."""

from __future__ import annotations

import math
from typing import Any

from PySide6.QtCore import QEvent, QObject, QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import (
    QDoubleSpinBox,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QSlider,
    QSpinBox,
    QToolButton,
    QWidget,
)

from app.engine_settings import ENGINE_KEYS, EngineSettings
from app.settings_words import NAMES, acts
from app.theme import GAP_SMALL, GAP_TINY, theme
from app.used_note import UsedNote
from engine import RANGES, ConfigError, Range

FLOAT_STEPS: dict[str, float] = {
    "temperature": 0.05,
    "top_p": 0.01,
    "min_p": 0.01,
    "draft_min_probability": 0.01,
    "repetition_penalty": 0.05,
}
SLIDER_TOP: dict[str, float] = {
    "temperature": 2.0,
    "repetition_penalty": 2.0,
    "draft_min_probability": 0.5,
    "max_new_tokens": 16384,
    "top_k": 1000,
}
LOGARITHMIC = frozenset({"max_new_tokens", "top_k", "prefill_chunk"})
LOG_STEPS = 200


class Scale:
    """Slider positions from 0 to `steps`, and the values they stand for. The number field may go beyond the slider."""

    def __init__(self, key: str, limits: Range) -> None:
        self.low = limits.low
        self.high = min(limits.high, SLIDER_TOP.get(key, limits.high))
        self.step = FLOAT_STEPS.get(key, 0.0)  # 0: whole numbers
        self.log = key in LOGARITHMIC
        self.steps = LOG_STEPS if self.log else round((self.high - self.low) / (self.step or 1))

    def position(self, value: float) -> int:
        """Nearest position."""
        value = min(max(value, self.low), self.high)
        if self.log:
            share = math.log((value + 1) / (self.low + 1)) / math.log((self.high + 1) / (self.low + 1))
            return round(share * self.steps)
        return round((value - self.low) / (self.step or 1))

    def value(self, position: int) -> int | float:
        """Value at a position."""
        if self.log:
            share = position / self.steps
            return round((self.low + 1) * ((self.high + 1) / (self.low + 1)) ** share - 1)
        value = self.low + position * (self.step or 1)
        return round(value, 4) if self.step else int(value)


class SettingField(QWidget):
    """Shows and changes one key of `EngineSettings`.

    Signals:
        refused(str): what was typed is not allowed; the sentence says why.
    """

    refused = Signal(str)

    def __init__(self, key: str, settings: EngineSettings, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.key = key
        self._settings = settings
        self._whole = key not in FLOAT_STEPS
        self._limits = RANGES[key]
        self._build()
        (settings.config_changed if key in ENGINE_KEYS else settings.sampling_changed).connect(self._show_value)
        settings.defaults_changed.connect(self._show_value)
        theme().changed.connect(self._restyle)
        self._restyle()
        self._show_value()

    def set_used(self, value: Any) -> None:
        """What the shown round used; None when no round is shown or it does not say."""
        self.used_note.set_used(value)

    def _build(self) -> None:
        name = NAMES[self.key]
        when = acts(self.key)
        self.setToolTip(f"{self._limits.help}\n{when}\nFrom {self._limits}.")
        self.title = QLabel(name)
        self.key_label = QLabel(self.key)
        self.number = self._make_number()
        self.number.setAccessibleName(name)
        self.number.setAccessibleDescription(f"{self._limits.help} {when}")
        self.reset_button = QToolButton(autoRaise=True)
        self.reset_button.setAccessibleName(f"Reset {name}")
        self.reset_button.clicked.connect(self._reset)
        self.note = QLabel(f"{_short(self._limits.low)}–{_short(self._limits.high)}")
        self.used_note = UsedNote(self.key, _short)
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(GAP_SMALL)
        grid.setVerticalSpacing(GAP_TINY)
        notes = QHBoxLayout()
        notes.setSpacing(GAP_SMALL)
        notes.addWidget(self.key_label)
        notes.addWidget(self.note, 1)
        notes.addWidget(self.used_note)
        grid.addWidget(self.title, 0, 0)
        grid.addWidget(self.number, 0, 1)
        grid.addWidget(self.reset_button, 0, 2)
        self._scale = Scale(self.key, self._limits)
        self.slider = self._make_slider(name)
        grid.addWidget(self.slider, 1, 0, 1, 3)
        grid.addLayout(notes, 2, 0, 1, 3)
        grid.setColumnStretch(0, 1)

    def _make_number(self) -> QSpinBox | QDoubleSpinBox:
        box = QSpinBox() if self._whole else QDoubleSpinBox(decimals=2, singleStep=FLOAT_STEPS[self.key])
        box.setRange(self._limits.low, self._limits.high)  # type: ignore[arg-type]
        box.setKeyboardTracking(False)
        box.setAlignment(Qt.AlignmentFlag.AlignRight)
        box.valueChanged.connect(self._set)
        box.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        box.installEventFilter(self)
        return box

    def _make_slider(self, name: str) -> QSlider:
        slider = QSlider(Qt.Orientation.Horizontal)
        slider.setRange(0, self._scale.steps)
        slider.setPageStep(max(1, self._scale.steps // 10))
        slider.setAccessibleName(name)
        slider.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        slider.installEventFilter(self)
        slider.valueChanged.connect(self._slid)
        return slider

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """A wheel over a field that is not in use must not change it; it scrolls the rows where they scroll."""
        unused = event.type() == QEvent.Type.Wheel and not watched.hasFocus()  # type: ignore[attr-defined]
        if unused:
            event.ignore()
        return unused

    def _slid(self, position: int) -> None:
        self._set(self._scale.value(position))

    def _set(self, value: float) -> None:
        try:
            self._settings.set_value(self.key, value)
        except ConfigError as error:
            self.refused.emit(str(error))
            self._show_value()

    def _reset(self) -> None:
        self._settings.reset(self.key)

    def _show_value(self, *_: object) -> None:
        value = self._settings.value(self.key)
        with QSignalBlocker(self.number), QSignalBlocker(self.slider):
            self.number.setValue(value)
            self.slider.setValue(self._scale.position(value))
        default = self._settings.default(self.key)
        self.reset_button.setEnabled(value != default)
        self.reset_button.setText(f"↺ {_short(default)}")
        self.reset_button.setToolTip(f"Back to the default, {_short(default)}")
        self.used_note.set_present(value)

    def _restyle(self) -> None:
        self.title.setFont(theme().font(bold=True))
        self.key_label.setFont(theme().font(0.78, mono=True))
        for label in (self.key_label, self.note):
            label.setStyleSheet(f"color: {theme().color('muted').name()};")
        for label in (self.note, self.reset_button):
            label.setFont(theme().font(0.82))
        self.used_note.restyle()
        self.number.setFixedWidth(theme().pixels(84 if self._limits.high > 9999 else 64))


def _short(value: Any) -> str:
    """A number as people write it: 0.7, 16, 1M."""
    if isinstance(value, float) and not value.is_integer():
        return f"{value:g}"
    number = int(value)
    return f"{number // 1_000_000}M" if number and number % 1_000_000 == 0 else str(number)
