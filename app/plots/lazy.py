"""A place for the plots that loads pyqtgraph only when it is first seen: the window must appear before that."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.selection import Selection

if TYPE_CHECKING:
    from app.plots.panel import PlotPanel

AFTER_MS = 50  # after it was first painted, with the window


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
        self._plain: tuple[float | None, str] = (None, "not measured yet")
        self._shown: list[str] = []
        self._timer = QTimer(self, interval=AFTER_MS, singleShot=True)
        self._timer.timeout.connect(self.panel)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)

    def panel(self) -> PlotPanel:
        """The charts, made now if they are not there."""
        if self._panel is None:
            from app.plots.panel import PlotPanel

            self._panel = PlotPanel(self._selection, self)
            self._panel.set_plain(*self._plain)
            if self._shown:
                self._panel.set_shown(self._shown)
            self._panel.export_wanted.connect(self.export_wanted)
            self._panel.shown_changed.connect(self.shown_changed)
            self.layout().addWidget(self._panel)
            self._keep_place(self._panel)
        return self._panel

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
        if self._panel is None and not self._timer.isActive():
            self._timer.start()


def _takes_focus(widget: QWidget) -> bool:
    return widget.focusPolicy() != Qt.FocusPolicy.NoFocus
