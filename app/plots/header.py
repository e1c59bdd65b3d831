"""Above the charts: which of them are shown, and what of them can be saved."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

from PySide6.QtCore import QSize, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QMenu, QToolButton, QWidget

from app.flat_buttons import flat_buttons
from app.theme import GAP_SMALL, GAP_TINY, theme

USUAL, SMALLER = 0.92, 0.76  # size of the words, as parts of the text's


class PlotHeader(QWidget):
    """A toggle for each chart, and a menu.

    Signals:
        toggled(str): the user showed or hid the chart of that name.
        export_wanted(str, str): chart name and "png" or "csv".
    """

    toggled = Signal(str)
    export_wanted = Signal(str, str)

    def __init__(self, titles: Mapping[str, str], parent: QWidget | None = None) -> None:
        """`titles` of the charts by their names, in order."""
        super().__init__(parent)
        self.buttons: dict[str, QToolButton] = {}
        row = QHBoxLayout(self)
        row.setContentsMargins(GAP_SMALL, 0, GAP_SMALL, 0)
        row.setSpacing(GAP_TINY)
        export = QMenu(self)
        for name, title in titles.items():
            button = QToolButton(text=name.capitalize(), checkable=True, autoRaise=True)
            button.setToolTip(f"Show or hide: {title}")
            button.setAccessibleName(f"Chart: {title}")
            button.clicked.connect(partial(self.toggled.emit, name))
            row.addWidget(button)
            self.buttons[name] = button
            for kind in ("png", "csv"):
                export.addAction(f"{title} as {kind.upper()}…", partial(self.export_wanted.emit, name, kind))
        row.addStretch(1)
        self.export_button = QToolButton(text="Save", autoRaise=True)
        self.export_button.setMenu(export)
        self.export_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.export_button.setToolTip("Save a chart as a picture or its numbers as CSV")
        self.export_button.setAccessibleName("Save a chart")
        row.addWidget(self.export_button)
        theme().changed.connect(self.restyle)
        self.restyle()

    @property
    def shown(self) -> list[str]:
        """Names of the charts that are shown."""
        return [name for name, button in self.buttons.items() if button.isChecked()]

    def set_shown(self, names: Iterable[str]) -> None:
        """Press the buttons of these charts and no others."""
        wanted = set(names)
        for name, button in self.buttons.items():
            button.setChecked(name in wanted)

    def restyle(self) -> None:
        """Fonts and colours."""
        self.setStyleSheet(flat_buttons(theme(), "2px 3px"))
        self._set_scale(USUAL)
        self._wanted = self.sizeHint().width()
        self._fit()

    def minimumSizeHint(self) -> QSize:
        """Words get smaller where there is no room."""
        return QSize(160, super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """More or less room."""
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """Make the words smaller where not all of them fit."""
        scale = USUAL if self._wanted <= self.width() else SMALLER
        if scale != self._scale:
            self._set_scale(scale)

    def _set_scale(self, scale: float) -> None:
        self._scale = scale
        for button in (*self.buttons.values(), self.export_button):
            button.setFont(theme().font(scale))
