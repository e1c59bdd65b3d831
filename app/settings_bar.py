"""The sliders under the window, and the line that says what they come to."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QSize, Qt, Signal
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QScrollArea, QSizePolicy, QToolButton, QVBoxLayout, QWidget

from app.choice_field import ChoiceField
from app.engine_settings import EngineSettings
from app.flow_grid import FlowGrid
from app.setting_field import SettingField
from app.settings_words import CHOICE_KEYS, MAIN_KEYS, MORE_KEYS, annotation, hints, resting, unused
from app.theme import GAP, GAP_SMALL, theme
from engine import Prefill, Round

FIELD_WIDTH = 216
LEAST_ROWS = 2  # of the fields behind "More", where they have more


class Rest(QScrollArea):
    """The fields behind "More": as high as they are where there is room, scrolled where there is not.

    Signals:
        narrowed(int): pixels that the scroll bar takes now.
    """

    narrowed = Signal(int)

    def __init__(self, grid: FlowGrid) -> None:
        super().__init__(widgetResizable=True)
        self._grid = grid
        self.setWidget(grid)
        self.verticalScrollBar().installEventFilter(self)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)

    def sizeHint(self) -> QSize:
        """Everything."""
        return self.widget().sizeHint()

    def minimumSizeHint(self) -> QSize:
        """The rows that are kept."""
        return QSize(0, self.minimumHeight())

    def keep_rows(self, width: int) -> None:
        """At least two rows stay in sight, if there are two at this width."""
        fields = self._grid.shown()
        row = max((field.sizeHint().height() for field in fields), default=0)
        rows = min(LEAST_ROWS, -(-len(fields) // self._grid.columns_at(width)))
        self.setMinimumHeight(rows * (row + GAP) - GAP)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Tell when the scroll bar comes or goes."""
        if event.type() in (QEvent.Type.Show, QEvent.Type.Hide):
            shown = event.type() == QEvent.Type.Show
            self.narrowed.emit(self.verticalScrollBar().sizeHint().width() if shown else 0)
        return super().eventFilter(watched, event)

    def focusNextPrevChild(self, forward: bool) -> bool:
        """Tab shows the whole field, not half a row."""
        moved = super().focusNextPrevChild(forward)
        field = self.focusWidget()
        while field is not None and not isinstance(field, SettingField | ChoiceField):
            field = field.parentWidget()
        if field is not None:
            self.ensureWidgetVisible(field, 0, 0)
        return moved


class SettingsBar(QFrame):
    """Sliders for the main settings; the others behind "More".

    Signals:
        refused(str): a typed value is not allowed.
        more_toggled(bool): the rest was opened or closed.
    """

    refused = Signal(str)
    more_toggled = Signal(object)

    def __init__(self, settings: EngineSettings, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._settings = settings
        self.setAccessibleName("Settings")
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self.fields: dict[str, SettingField | ChoiceField] = {}
        self._main, self._more = FlowGrid(FIELD_WIDTH, even=False), FlowGrid(FIELD_WIDTH, even=False)
        for grid, keys in ((self._main, MAIN_KEYS), (self._more, MORE_KEYS)):
            for key in keys:
                self.fields[key] = field = self._field(key)
                grid.add(field)
        self.more_button = QToolButton(text="More", checkable=True, autoRaise=True)
        self.more_button.setArrowType(Qt.ArrowType.RightArrow)
        self.more_button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.more_button.setToolTip("Sampling details, copying, exactness, and where lookahead looks")
        self.more_button.toggled.connect(self._show_more)
        self.sums = QLabel()
        self.sums.setWordWrap(True)
        self.sums.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.hint = QLabel()
        self.hint.setWordWrap(True)
        policy = self.hint.sizePolicy()
        policy.setRetainSizeWhenHidden(True)  # or tree and charts would be laid out anew whenever it comes or goes
        self.hint.setSizePolicy(policy)
        self.rest = Rest(self._more)
        self.rest.setAccessibleName("More settings")
        self.rest.narrowed.connect(self._main.set_margin)  # or the columns of the two would not be in line
        self._arrange()
        settings.config_changed.connect(self._refresh)
        settings.sampling_changed.connect(self._refresh)
        theme().changed.connect(self._restyle)
        self._restyle()
        self._refresh()

    def _field(self, key: str) -> SettingField | ChoiceField:
        if key in CHOICE_KEYS:
            return ChoiceField(key, self._settings)
        field = SettingField(key, self._settings)
        field.refused.connect(self.refused)
        return field

    def _arrange(self) -> None:
        words = QVBoxLayout()
        words.setSpacing(0)
        words.addWidget(self.sums)
        words.addWidget(self.hint)
        line = QHBoxLayout()
        line.setSpacing(GAP * 2)
        line.addLayout(words, 1)
        line.addWidget(self.more_button)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(GAP, GAP_SMALL, GAP, GAP_SMALL)
        layout.setSpacing(GAP_SMALL)
        layout.addWidget(self._main)
        layout.addWidget(self.rest)
        layout.addLayout(line)
        self.rest.hide()

    def show_round(self, shown: Round | None, prefill: Prefill | None = None) -> None:
        """Show beside each setting what this round used, and how the prompt before it was read."""
        rest = unused(shown.settings.strategy) if shown is not None else frozenset()
        for key, field in self.fields.items():
            if shown is None or key in rest:
                used = None
            elif key == "prefill_chunk":
                used = prefill.chunk if prefill is not None else None
            else:
                used = getattr(shown.settings, key)
            field.set_used(used)

    def _show_more(self, shown: bool) -> None:
        self.more_button.setArrowType(Qt.ArrowType.DownArrow if shown else Qt.ArrowType.RightArrow)
        self.more_button.setText("Less" if shown else "More")
        self.rest.keep_rows(self.width())
        self.rest.setVisible(shown)
        self.more_toggled.emit(shown)

    def _refresh(self, *_: object) -> None:
        config, sampling = self._settings.config, self._settings.sampling
        self.sums.setText(annotation(config))
        said = hints(config, sampling, self._settings.default_sampling)
        self.hint.setText("  ".join(said))
        self.hint.setVisible(bool(said))
        at_rest = resting(config)
        for key, field in self.fields.items():
            field.setEnabled(key not in at_rest)

    def _restyle(self) -> None:
        for grid in (self._main, self._more):
            grid.set_column_width(theme().pixels(FIELD_WIDTH))
        self.sums.setFont(theme().font(0.88))
        self.hint.setFont(theme().font(0.88))
        self.hint.setMinimumHeight(QFontMetrics(self.hint.font()).lineSpacing())
        self.hint.setStyleSheet(f"color: {theme().color('warning').name()};")
        if not self.rest.isHidden():
            self.rest.keep_rows(self.width())
