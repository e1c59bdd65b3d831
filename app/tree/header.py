"""Above the tree: which round this is, and what is shown beside it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from PySide6.QtCore import QSize, Qt, Signal, SignalInstance
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QHBoxLayout, QLabel, QMenu, QSizePolicy, QToolButton, QWidget

from app.flat_buttons import flat_buttons
from app.save_dialog import ask_where
from app.theme import GAP, GAP_SMALL, theme
from app.tree.words import summary
from engine.trace import Phase, Round

TIGHT = 1  # pixels between buttons that hardly fit
USUAL = "Round 60 of 60: 16 of 16 copied accepted, 17 tokens in 137.7 ms"  # decides between one line and two


class TreeHeader(QWidget):
    """Title and toggles.

    Signals:
        ghosts_toggled … top_down_toggled: a toggle was clicked; fit_requested.
        picture_chosen: (path, "png" or "svg") for the tree; trace_requested, rounds_requested: the other exports.
    """

    ghosts_toggled = Signal(bool)
    table_toggled = Signal(bool)
    mask_toggled = Signal(bool)
    kv_toggled = Signal(bool)
    top_down_toggled = Signal(bool)
    fit_requested = Signal()
    picture_chosen = Signal(Path, str)
    trace_requested = Signal()
    rounds_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.title = QLabel()
        self.title.setTextFormat(Qt.TextFormat.PlainText)
        self.title.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._text = ""
        self.ghosts_button = self._toggle(
            "Pruned", "Show candidates that were pruned before verification", self.ghosts_toggled
        )
        self.table_button = self._toggle("Table", "Show the tree as a table", self.table_toggled)
        self.mask_button = self._toggle("Mask", "Show the attention mask of the verify pass", self.mask_toggled)
        self.kv_button = self._toggle("KV", "Show which cache rows stay", self.kv_toggled)
        self.top_down_button = self._toggle("⇅", "Draw the tree top-down", self.top_down_toggled)
        self._toggles = {
            "pruned": self.ghosts_button,
            "table": self.table_button,
            "mask": self.mask_button,
            "kv": self.kv_button,
            "top_down": self.top_down_button,
        }
        self.fit_button = self._button("Fit", "Show the whole tree (F)")
        self.fit_button.clicked.connect(self.fit_requested)
        self.export_button = self._button("Save", "Save the tree, the trace or the rounds")
        self.export_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.export_button.setMenu(self._menu())
        self._tools = QWidget()
        self._row = QHBoxLayout(self._tools)
        self._row.setContentsMargins(0, 0, 0, 0)
        for button in self.buttons():
            self._row.addWidget(button)
        self._box = QBoxLayout(QBoxLayout.Direction.LeftToRight, self)
        self._box.setSpacing(GAP_SMALL)
        self._box.addWidget(self.title, 1)
        self._box.addWidget(self._tools, 0, Qt.AlignmentFlag.AlignRight)
        theme().changed.connect(self.restyle)
        self.restyle()

    def buttons(self) -> list[QToolButton]:
        """All, in order."""
        return [
            self.ghosts_button,
            self.table_button,
            self.mask_button,
            self.kv_button,
            self.top_down_button,
            self.fit_button,
            self.export_button,
        ]

    def options(self) -> dict[str, bool]:
        """The toggles by name, to be kept over a restart."""
        return {name: button.isChecked() for name, button in self._toggles.items()}

    def set_options(self, options: Mapping[str, bool]) -> None:
        """Set the toggles that are named, as a click would."""
        for name, button in self._toggles.items():
            if options.get(name, button.isChecked()) != button.isChecked():
                button.click()

    def show_round(self, shown: Round | None, count: int, waiting: Phase | None = None) -> None:
        """Title of the round, or of the one in the making."""
        if waiting is not None:
            text = f"Round {waiting.round + 1}: the engine waits"
        elif shown is None:
            text = "Draft tree"
        else:
            text = summary(shown, count)
        if text != self._text:
            self._text = text
            self._elide()

    def restyle(self) -> None:
        """Fonts and colours."""
        self.title.setFont(theme().font(1.0, bold=True))
        for button in self.buttons():
            button.setFont(theme().font(0.92))
        self.setStyleSheet(flat_buttons(theme(), "2px 3px"))
        self._arrange()
        self._elide()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Cut the title where it is too long."""
        super().resizeEvent(event)
        self._arrange()
        self._elide()

    def minimumSizeHint(self) -> QSize:
        """As narrow as the buttons."""
        return QSize(self._buttons_width(TIGHT) + 2 * GAP_SMALL, super().minimumSizeHint().height())

    def _buttons_width(self, spacing: int) -> int:
        buttons = self.buttons()
        return sum(button.sizeHint().width() for button in buttons) + spacing * (len(buttons) - 1)

    def _arrange(self) -> None:
        """Title and buttons in one line where a usual title fits, else in two; the buttons closer where they must."""
        title, usual = self.title.fontMetrics().horizontalAdvance(USUAL), self._buttons_width(GAP_SMALL)
        roomy = usual + 2 * GAP <= self.width()
        self._row.setSpacing(GAP_SMALL if roomy else TIGHT)
        side = GAP if roomy else GAP_SMALL
        self._box.setContentsMargins(side, GAP_SMALL, side, GAP_SMALL)
        one_line = usual + title + 3 * GAP <= self.width()
        direction = QBoxLayout.Direction.LeftToRight if one_line else QBoxLayout.Direction.TopToBottom
        if direction != self._box.direction():
            self._box.setDirection(direction)
            side = Qt.AlignmentFlag.AlignRight if one_line else Qt.AlignmentFlag.AlignLeft
            self._box.setAlignment(self._tools, side)

    def _elide(self) -> None:
        room = max(0, self.title.width() - 2)
        self.title.setText(self.title.fontMetrics().elidedText(self._text, Qt.TextElideMode.ElideRight, room))
        self.title.setToolTip(self._text)

    def _toggle(self, text: str, tip: str, signal: SignalInstance) -> QToolButton:
        button = self._button(text, tip)
        button.setCheckable(True)
        button.clicked.connect(signal)
        return button

    def _button(self, text: str, tip: str) -> QToolButton:
        button = QToolButton(text=text, autoRaise=True)
        button.setToolTip(tip)
        button.setAccessibleName(tip)
        return button

    def _menu(self) -> QMenu:
        menu = QMenu(self)
        menu.addAction("Tree as PNG…", self._choose_png)
        menu.addAction("Tree as SVG…", self._choose_svg)
        menu.addSeparator()
        menu.addAction("Trace of the turn as JSON…", self.trace_requested.emit)
        menu.addAction("Rounds of the turn as CSV…", self.rounds_requested.emit)
        return menu

    def _choose_png(self) -> None:
        self._choose("png", "PNG picture (*.png)")

    def _choose_svg(self) -> None:
        self._choose("svg", "SVG drawing (*.svg)")

    def _choose(self, kind: str, pattern: str) -> None:
        title = f"Save the tree as {kind.upper()}"
        path = ask_where(self, title, Path(f"tree.{kind}"), pattern, (f".{kind}",))
        if path is not None:
            self.picture_chosen.emit(path, kind)
