"""One setting that is a word or a switch: name, choices, default with a reset, and what the shown round used."""

from __future__ import annotations

from functools import partial
from typing import Any

from PySide6.QtCore import QEvent, QObject, QSignalBlocker, Qt
from PySide6.QtWidgets import QComboBox, QGridLayout, QHBoxLayout, QLabel, QToolButton, QWidget

from app.engine_settings import EngineSettings
from app.settings_words import NAMES, SWITCHES
from app.theme import GAP_SMALL, GAP_TINY, theme
from app.used_note import UsedNote
from engine import CHOICES

ON_OFF = {"on": True, "off": False}


class ChoiceField(QWidget):
    """Shows and changes one key of `EngineSettings`; acts at the next round."""

    def __init__(self, key: str, settings: EngineSettings, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.key = key
        self._settings = settings
        self._choices: dict[str, Any] = ON_OFF if key in SWITCHES else {word: word for word in CHOICES[key].words}
        self._word = partial(_word, self._choices)
        help_ = SWITCHES[key] if key in SWITCHES else CHOICES[key].help
        self.setToolTip(f"{help_}\nActs at the next round.")
        self.title, self.key_label = QLabel(NAMES[key]), QLabel(key)
        self.choice = QComboBox()
        self.choice.addItems(list(self._choices))
        self.choice.setAccessibleName(NAMES[key])
        self.choice.setAccessibleDescription(help_)
        self.choice.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.choice.installEventFilter(self)
        self.choice.activated.connect(self._chosen)
        self.reset_button = QToolButton(autoRaise=True)
        self.reset_button.setAccessibleName(f"Reset {NAMES[key]}")
        self.reset_button.clicked.connect(self._reset)
        self.used_note = UsedNote(key, self._word)
        self._arrange()
        settings.config_changed.connect(self._show_value)
        settings.defaults_changed.connect(self._show_value)
        theme().changed.connect(self._restyle)
        self._restyle()
        self._show_value()

    def _arrange(self) -> None:
        notes = QHBoxLayout()
        notes.setSpacing(GAP_SMALL)
        notes.addWidget(self.key_label, 1)
        notes.addWidget(self.used_note)
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(GAP_SMALL)
        grid.setVerticalSpacing(GAP_TINY)
        grid.addWidget(self.title, 0, 0)
        grid.addWidget(self.choice, 0, 1)
        grid.addWidget(self.reset_button, 0, 2)
        grid.addLayout(notes, 1, 0, 1, 3)
        grid.setColumnStretch(0, 1)
        grid.setRowStretch(2, 1)

    def set_used(self, value: Any) -> None:
        """What the shown round used; None when no round is shown or it does not say."""
        self.used_note.set_used(value)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """A wheel over a field that is not in use must not change it; it scrolls the rows where they scroll."""
        unused = event.type() == QEvent.Type.Wheel and not self.choice.hasFocus()
        if unused:
            event.ignore()
        return unused

    def _chosen(self, index: int) -> None:
        self._settings.set_value(self.key, self._choices[self.choice.itemText(index)])

    def _reset(self) -> None:
        self._settings.reset(self.key)

    def _show_value(self, *_: object) -> None:
        value, default = self._settings.value(self.key), self._settings.default(self.key)
        with QSignalBlocker(self.choice):
            self.choice.setCurrentText(self._word(value))
        self.reset_button.setText(f"↺ {self._word(default)}")
        self.reset_button.setToolTip(f"Back to the default, {self._word(default)}")
        self.reset_button.setEnabled(value != default)
        self.used_note.set_present(value)

    def _restyle(self) -> None:
        self.title.setFont(theme().font(bold=True))
        self.key_label.setFont(theme().font(0.78, mono=True))
        self.key_label.setStyleSheet(f"color: {theme().color('muted').name()};")
        self.reset_button.setFont(theme().font(0.82))
        self.used_note.restyle()


def _word(choices: dict[str, Any], value: Any) -> str:
    """What a value is called, "" if it is none of the choices."""
    return next((word for word, meant in choices.items() if meant == value), "")
