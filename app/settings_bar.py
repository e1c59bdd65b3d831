"""The sliders under the window, and the line that says what they come to."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QSize, Qt, Signal
from PySide6.QtGui import QFontMetrics, QResizeEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QScrollArea, QSizePolicy, QToolButton, QVBoxLayout, QWidget

from app.choice_field import ChoiceField
from app.engine_settings import EngineSettings
from app.flow_grid import FlowGrid
from app.setting_field import SettingField
from app.settings_words import CHOICE_KEYS, MAIN_KEYS, MORE_KEYS, annotation, hints, resting, unused
from app.theme import GAP, GAP_SMALL, theme
from engine import Prefill, Round

FIELD_WIDTH = 216
NO_LIMIT = 16777215  # Qt's QWIDGETSIZE_MAX
LEAST_ROWS = 2  # of the fields behind "More", where they have more


class Rows(QScrollArea):
    """Rows of fields: as high as they are where there is room, scrolled where there is not.

    Signals:
        narrowed(): the scroll bar came or went.
        changed(): fields have other sizes.
    """

    narrowed = Signal()
    changed = Signal()

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

    def keep_rows(self, width: int, most: int, *, no_more: bool = False) -> None:
        """At least so many rows stay in sight, if there are so many at this width; `no_more`: and not more of them."""
        fields = self._grid.shown()
        row = max((field.sizeHint().height() for field in fields), default=0) + GAP
        height = row * min(most, -(-len(fields) // self._grid.columns_at(width))) - GAP
        self.setMinimumHeight(height)
        self.setMaximumHeight(height if no_more else NO_LIMIT)
        self.verticalScrollBar().setSingleStep(row)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Tell when the scroll bar comes or goes."""
        if event.type() in (QEvent.Type.Show, QEvent.Type.Hide) and watched is self.verticalScrollBar():
            self.narrowed.emit()
        if event.type() == QEvent.Type.LayoutRequest and watched is self.widget():
            self.changed.emit()
        return super().eventFilter(watched, event)

    def bar_width(self) -> int:
        """Pixels that the scroll bar takes now."""
        bar = self.verticalScrollBar()
        return bar.sizeHint().width() if bar.isVisible() else 0

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
        self.main, self.rest = Rows(self._main), Rows(self._more)
        self.main.setAccessibleName("Main settings")
        self.main.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # it follows the field that has the focus
        self.rest.setAccessibleName("More settings")
        for rows in (self.main, self.rest):
            rows.narrowed.connect(self._line_up)
            rows.changed.connect(self._keep_rows)
        self._low = self._sized = False
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
        layout.addWidget(self.main)
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

    def set_low(self, low: bool) -> None:
        """In a low window one row is seen at a time; the others are scrolled to."""
        if low != self._low:
            self._low = low
            self._keep_rows()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Another width has other rows."""
        super().resizeEvent(event)
        if not self._sized or event.size().width() != event.oldSize().width():
            self._sized = True
            self._keep_rows()

    def _keep_rows(self) -> None:
        width = self.width() if self._sized else NO_LIMIT  # or a window that opens would be laid out twice
        if self._low:
            for rows in (self.main, self.rest):
                rows.keep_rows(width, 1, no_more=True)
        else:
            self.main.keep_rows(width, len(MAIN_KEYS))
            self.rest.keep_rows(width, LEAST_ROWS)

    def _line_up(self) -> None:
        """The columns of the two are in line, also where one of them has a scroll bar."""
        bars = [rows.bar_width() for rows in (self.main, self.rest)]
        self._main.set_margin(max(bars) - bars[0])
        self._more.set_margin(max(bars) - bars[1])

    def _show_more(self, shown: bool) -> None:
        self.more_button.setArrowType(Qt.ArrowType.DownArrow if shown else Qt.ArrowType.RightArrow)
        self.more_button.setText("Less" if shown else "More")
        self._keep_rows()
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
