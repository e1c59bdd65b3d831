"""A place for the plots that loads pyqtgraph only when it is first seen, in another thread: 0.25 s. Then it makes the
charts one by one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, QTimer, Signal, Slot
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.beside import Beside
from app.plots.qt_names import make_names
from app.selection import Selection

if TYPE_CHECKING:
    from app.plots.panel import ChartMaker, PlotPanel

AFTER_MS = 50  # after it was first painted, with the window
BETWEEN_MS = 10  # two charts, or turns in which classes are made
NAMES_SECONDS = 0.004  # for classes in one turn of the event loop


class LazyPlots(QWidget):
    """Signals: those of `PlotPanel`."""

    export_wanted = Signal(str, str)
    shown_changed = Signal()

    def __init__(self, selection: Selection, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName("Plots")
        self.setMinimumHeight(120)
        self._selection = selection
        self._panel: PlotPanel | None = None
        self._seen = False
        self._plain: tuple[float | None, str] = (None, "not measured yet")
        self._shown: list[str] = []
        self._timer = QTimer(self, interval=AFTER_MS, singleShot=True)
        self._timer.timeout.connect(self._load)
        self._names = make_names()
        self._beside = Beside(self)
        self._charts: ChartMaker | None = None  # those made so far
        self._next = QTimer(self, interval=BETWEEN_MS, singleShot=True)
        self._next.timeout.connect(self._make_next)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)

    def panel(self) -> PlotPanel:
        """The charts, made now if they are not there."""
        if self._panel is None:
            from app.plots.panel import PlotPanel

            self._next.stop()
            self._panel, self._charts = PlotPanel(self._selection, self, self._charts), None
            self._panel.set_plain(*self._plain)
            if self._shown:
                self._panel.set_shown(self._shown)
            self._panel.export_wanted.connect(self.export_wanted)
            self._panel.shown_changed.connect(self.shown_changed)
            self.layout().addWidget(self._panel)
            self._keep_place(self._panel)
        return self._panel

    def _load(self) -> None:
        """Make Qt's classes here, some per turn; then import in another thread: nothing there is a widget."""
        until = time.perf_counter() + NAMES_SECONDS
        for _ in self._names:
            if time.perf_counter() > until:
                self._timer.start(BETWEEN_MS)
                return
        self._beside.run(_import, self._make_next, self._make_next)  # an error comes again where it can be told

    @Slot()
    def _make_next(self, _loaded: object = None) -> None:
        """One more chart, or the panel when all are made."""
        from app.plots.panel import ChartMaker

        if self._panel is not None:
            return
        self._charts = self._charts or ChartMaker(self._selection, self)
        if self._charts.go_on():
            self._next.start()
        else:
            self.panel()

    def _keep_place(self, panel: PlotPanel) -> None:
        """What is made late comes last for Tab: it belongs where this widget is."""
        late, widget = [], panel.nextInFocusChain()
        while widget is not panel:
            if panel.isAncestorOf(widget) and _takes_focus(widget):
                late.append(widget)
            widget = widget.nextInFocusChain()
        before = self.previousInFocusChain()
        while not _takes_focus(before) and before is not self:  # Qt puts nothing behind a widget without focus
            before = before.previousInFocusChain()
        for widget in late:
            QWidget.setTabOrder(before, widget)
            before = widget

    @property
    def shown(self) -> list[str]:
        """Names of the charts that are shown."""
        return self._panel.shown if self._panel is not None else self._shown

    def set_shown(self, names: Iterable[str]) -> None:
        """Show these charts."""
        self._shown = list(names)
        if self._panel is not None:
            self._panel.set_shown(self._shown)

    def set_plain(self, ms: float | None, reason: str = "") -> None:
        """The calibrated cost of plain decoding, or why there is none."""
        self._plain = (ms, reason)
        if self._panel is not None:
            self._panel.set_plain(ms, reason)

    def flush(self) -> None:
        """Show the end of a turn now."""
        if self._panel is not None:
            self._panel.flush()

    def export(self, name: str, path: Path) -> Callable[[], Path]:
        """A chart for that file, PNG or CSV; the call writes it."""
        return self.panel().export(name, path)

    def paintEvent(self, event: QPaintEvent) -> None:
        """The window's picture is made: load soon."""
        super().paintEvent(event)
        if not self._seen:
            self._seen = True
            self._timer.start()


def _import() -> None:
    import app.plots.panel  # noqa: F401


def _takes_focus(widget: QWidget) -> bool:
    return widget.focusPolicy() != Qt.FocusPolicy.NoFocus
