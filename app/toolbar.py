"""The toolbar: which model, which strategy, and how the rounds are looked at."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QEvent, QSignalBlocker, QSize, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QComboBox, QLabel, QMenu, QSizePolicy, QToolBar, QToolButton, QWidget

from app.actions import Actions
from app.engine_settings import EngineSettings
from app.flat_buttons import flat_buttons
from app.icons import SIZE, icon
from app.player import PACES
from app.settings_words import is_plain
from app.theme import GAP_SMALL, GAP_TINY, theme

STRATEGY_NAMES = {
    "plain": "Plain decoding",
    "eagle": "EAGLE-3 tree",
    "mtp": "MTP chain",
    "lookahead": "Lookahead",
}
BUTTONS = {"live": "Live", "hold": "Hold", "play": "Play", "step_back": "Back", "step": "Step"}


class MainToolBar(QToolBar):
    """Signals:
    pace_chosen(int): play so many times slower.
    """

    pace_chosen = Signal(int)

    def __init__(self, actions: Actions, settings: EngineSettings, model_menu: QMenu, parent: QWidget) -> None:
        super().__init__("Toolbar", parent)
        self.setObjectName("toolbar")
        self.setMovable(False)
        self.setIconSize(QSize(SIZE, SIZE))
        self._settings, self._actions = settings, actions
        self._wanted = 0  # pixels for everything, words included
        self.model_button = QToolButton(text="No model")
        self.model_button.setMenu(model_menu)
        self.model_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.model_button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextOnly)
        self.model_button.setToolTip("The model that answers")
        self.model_button.setAccessibleName("Model: none")
        self.strategy = QComboBox()
        self.strategy.setAccessibleName("Strategy")
        self.strategy.setToolTip("How tokens are made; acts at the next round")
        self.strategy.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self.strategy.activated.connect(self._strategy_chosen)
        settings.config_changed.connect(self._show_strategy)
        self.addWidget(self.model_button)
        self.addWidget(self.strategy)
        self.addSeparator()
        self.buttons: dict[str, QToolButton] = {}
        for name, text in BUTTONS.items():
            self._add(actions, name, text)
        self.pace = QComboBox()
        self.pace.setAccessibleName("Pace")
        self.pace.setToolTip("How fast Play walks; every number stays the engine's own")
        for pace, words in PACES.items():
            self.pace.addItem(words, pace)
        self.pace.activated.connect(self._pace_chosen)
        self.addWidget(self.pace)
        self.addSeparator()
        self._add(actions, "step_engine", "Step the engine")
        self.banner = QLabel()
        self.banner.setTextFormat(Qt.TextFormat.PlainText)
        self.banner.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.banner.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.addWidget(self.banner)
        theme().changed.connect(self._restyle)
        self._restyle()

    def set_strategies(self, strategies: Mapping[str, str]) -> None:
        """Those the engine knows, in its order; later ones appear by themselves."""
        with QSignalBlocker(self.strategy):
            self.strategy.clear()
            for i, (name, text) in enumerate(strategies.items()):
                self.strategy.addItem(STRATEGY_NAMES.get(name, name), name)
                self.strategy.setItemData(i, text, Qt.ItemDataRole.ToolTipRole)
        self._show_strategy()
        self._measure()

    def set_model(self, text: str, tip: str) -> None:
        """Name on the model button."""
        self.model_button.setText(f"{text} ▾")
        self.model_button.setAccessibleName(f"Model: {text}")
        self.model_button.setToolTip(tip)
        self._measure()

    def set_pace(self, pace: int) -> None:
        """Show a pace chosen elsewhere."""
        with QSignalBlocker(self.pace):
            self.pace.setCurrentIndex(max(0, self.pace.findData(pace)))

    def set_banner(self, text: str) -> None:
        """What plays, and how slowly."""
        self.banner.setText(text)

    def _add(self, actions: Actions, name: str, text: str) -> None:
        button = QToolButton()
        button.setDefaultAction(actions[name])
        button.setText(text)
        button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        button.setAccessibleName(actions[name].text().replace("&", ""))
        button.setObjectName(name)
        self.addWidget(button)
        self.buttons[name] = button
        # A default action's text replaces the button's when the action changes: say ours again.
        actions[name].changed.connect(lambda: button.setText(text))

    def _strategy_chosen(self, index: int) -> None:
        self._settings.set_value("speculative_type", self.strategy.itemData(index))

    def _pace_chosen(self, index: int) -> None:
        self.pace_chosen.emit(self.pace.itemData(index))

    def _show_strategy(self, *_: object) -> None:
        config = self._settings.config
        name = "plain" if is_plain(config) else config.speculative_type
        with QSignalBlocker(self.strategy):
            self.strategy.setCurrentIndex(self.strategy.findData(name))

    def _restyle(self) -> None:
        text, muted = theme().color("text"), theme().color("muted")
        for name in BUTTONS:
            self._actions[name].setIcon(icon(name, text, muted))  # type: ignore[arg-type]
        self.setStyleSheet(
            f"QToolBar {{ spacing: {GAP_SMALL}px; padding: {GAP_TINY}px {GAP_SMALL}px; border: 0;"
            f" border-bottom: 1px solid {theme().color('line').name()}; }}" + flat_buttons(theme(), "2px 6px")
        )
        self.banner.setStyleSheet(f"color: {theme().color('warning').name()};")
        self._measure()

    def _measure(self) -> None:
        """What all parts want, words included; the banner takes what is left."""
        self._set_words(True)
        self.layout().invalidate()
        self._wanted = self.sizeHint().width() - self.banner.sizeHint().width()
        self._fit()

    def _fit(self) -> None:
        """Buttons with an icon go without their words where something would have to leave the bar."""
        self._set_words(self._wanted <= self.width())

    def _set_words(self, on: bool) -> None:
        style = Qt.ToolButtonStyle.ToolButtonTextBesideIcon if on else Qt.ToolButtonStyle.ToolButtonIconOnly
        for name in BUTTONS:
            self.buttons[name].setToolButtonStyle(style)

    def changeEvent(self, event: QEvent) -> None:
        """Another text size."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange and hasattr(self, "banner"):
            self._measure()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """More or less room."""
        super().resizeEvent(event)
        self._fit()
