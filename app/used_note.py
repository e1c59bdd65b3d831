"""What the shown round used of one setting. Knows no round: a field hands it the value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from PySide6.QtWidgets import QLabel

from app.settings_words import origin
from app.theme import theme


class UsedNote(QLabel):
    """The words “used 4” beside a setting, coloured where the present value is another; empty where nothing is known.

    `word` says a value as the field does.
    """

    def __init__(self, key: str, word: Callable[[Any], str]) -> None:
        super().__init__()
        self._word = word
        self._used: Any = None
        self._present: Any = None
        self.setToolTip(origin(key))

    def set_used(self, value: Any) -> None:
        """What the shown round used; None when no round is shown or it does not say."""
        if value != self._used:
            self._used = value
            self._show()

    def set_present(self, value: Any) -> None:
        """What the setting is now."""
        self._present = value
        self._show()

    def restyle(self) -> None:
        """New colours and sizes."""
        self.setFont(theme().font(0.82))
        self._show()

    def _show(self) -> None:
        word = "" if self._used is None else self._word(self._used)
        self.setText(f"used {word}" if word else "")
        differs = self._used is not None and self._used != self._present
        sheet = f"color: {theme().color('warning' if differs else 'muted').name()};"
        if self.styleSheet() != sheet:
            self.setStyleSheet(sheet)
