"""The charts side by side: which are shown, when they are redrawn, how they are exported."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QElapsedTimer, QEvent, Qt, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QFrame, QScrollArea, QVBoxLayout, QWidget

from app.flow_grid import FlowGrid
from app.own_turn import OwnTurn
from app.plots.acceptance_chart import AcceptanceChart
from app.plots.bar_chart import DepthChart, RankChart
from app.plots.chart import Chart
from app.plots.export import csv_text, picture, write_picture, write_text
from app.plots.header import PlotHeader
from app.plots.series import RoundSeries
from app.plots.speed_chart import SpeedChart
from app.plots.time_chart import TimeChart
from app.selection import Selection
from app.theme import GAP_SMALL
from app.throttle import Throttle
from engine.trace import Turn

REFRESH_MS, SLOWEST_MS = 150, 6000  # between two redraws
FIRST_MS = 4000  # at most, from the start of a reply to its first picture
SHARE = 300  # a redraw may cost this part of the time between two: the engine needs the processor more
STAGGER_MS = 25  # between two charts: painted in one go they would hold up everything else
REVEAL_MS, LONGEST_MS = 40, 150  # the same for charts that were laid out anew; not while the size still changes, but …
CHART_WIDTH = 190
AT_FIRST = ("acceptance", "speed", "time")


class ChartMaker:
    """Makes the charts one by one: all of them at once would hold the window for 60 ms. They go with `parent` if the
    window closes before all are made; a chart of nobody's outlives it and takes the program down.

    Attributes:
        series: what all of them show; `charts`: those made so far, by name.
    """

    def __init__(self, selection: Selection, parent: QWidget) -> None:
        self._parent = parent
        self.series = RoundSeries()
        self.charts: dict[str, Chart] = {}
        series = self.series
        self._left: list[tuple[str, Callable[[], Chart]]] = [
            ("acceptance", lambda: AcceptanceChart(series, selection)),
            ("speed", lambda: SpeedChart(series, selection)),
            ("time", lambda: TimeChart(series, selection)),
            ("depth", lambda: DepthChart(series)),
            ("rank", lambda: RankChart(series)),
        ]

    def go_on(self) -> bool:
        """Make the next one; whether there was one to make."""
        if not self._left:
            return False
        name, make = self._left.pop(0)
        chart = self.charts[name] = make()
        chart.setParent(self._parent)
        return True


class PlotPanel(QWidget):
    """Charts of the selection's turn, redrawn a few times a second while in sight, more rarely on a slow machine.

    Signals:
        export_wanted(str, str): chart name and "png" or "csv".
        shown_changed(): the user chose other charts.
    """

    export_wanted = Signal(str, str)
    shown_changed = Signal()

    def __init__(self, selection: Selection, parent: QWidget | None = None, charts: ChartMaker | None = None) -> None:
        """`charts`: those that are made already, of the same selection."""
        super().__init__(parent)
        self.setAccessibleName("Plots")
        self._selection = selection
        made = charts or ChartMaker(selection, self)
        while made.go_on():
            pass
        self.series, self.charts = made.series, made.charts
        self.header = PlotHeader({name: chart.title for name, chart in self.charts.items()}, self)
        self.header.toggled.connect(self._toggled)
        self.header.export_wanted.connect(self.export_wanted)
        self._covered: list[Chart] = []  # of another size or look since they were drawn
        self._since = QElapsedTimer()  # the first of them, or the last picture of one
        self._since.invalidate()
        self._grid = FlowGrid(CHART_WIDTH, stretch_rows=True)
        self._arrange()
        self._throttle = Throttle(self._redraw_soon, REFRESH_MS, self)
        self._waiting: list[str] = []  # charts of a redraw that has begun
        self._cost = 0.0  # of it so far, in milliseconds
        self._next = OwnTurn(self, STAGGER_MS)
        self._next.due.connect(self._draw_next)
        self._reveal = OwnTurn(self, REVEAL_MS)
        self._reveal.due.connect(self._uncover_next)
        for chart in self.charts.values():
            chart.plot.size_changed.connect(partial(self._cover, chart))
        selection.turn_changed.connect(self._turn_changed)
        selection.rounds_changed.connect(self._changed)
        self.set_shown(AT_FIRST)
        self.series.update(selection.turn)

    @property
    def shown(self) -> list[str]:
        """Names of the charts that are shown."""
        return self.header.shown

    @property
    def redrawing(self) -> bool:
        """Whether charts still wait for their turn in a redraw."""
        return self._next.isActive() or bool(self._waiting)

    def set_shown(self, names: Iterable[str]) -> None:
        """Show these charts, in their usual order; all of AT_FIRST when none is known."""
        wanted = [name for name in names if name in self.charts] or list(AT_FIRST)
        self.header.set_shown(wanted)
        for name, chart in self.charts.items():
            self._grid.set_shown(chart, name in wanted)

    def set_plain(self, ms: float | None, reason: str = "") -> None:
        """The calibrated cost of plain decoding."""
        self.charts["speed"].set_plain(ms, reason)  # type: ignore[attr-defined]

    def flush(self) -> None:
        """Do a waiting redraw now."""
        self._throttle.flush()

    def export(self, name: str, path: Path) -> Callable[[], Path]:
        """One chart for that file, PNG or CSV by its ending: drawn now, written by the call, from any thread."""
        self.series.update(self._selection.turn)
        chart = self.charts[name]
        chart.uncover()
        if path.suffix == ".csv":
            return partial(write_text, path, csv_text(chart))
        chart.refresh()
        return partial(write_picture, path, picture(chart))

    def changeEvent(self, event: QEvent) -> None:
        """The picture of the window with other colours comes without the charts, they follow."""
        super().changeEvent(event)
        if event.type() in (QEvent.Type.PaletteChange, QEvent.Type.FontChange):
            for name in self.shown:
                self._cover(self.charts[name], forget=True)

    def _cover(self, chart: Chart, forget: bool = False) -> None:
        """The whole window with all charts anew would be too much for one turn; more so while a reply streams."""
        turn = self._selection.turn
        running = turn is not None and turn.end is None
        if not running and (forget or not chart.plot.kept):
            return
        chart.cover(forget)
        if chart not in self._covered:
            self._covered.append(chart)
        if not self._since.isValid():
            self._since.start()
        if self._since.elapsed() < LONGEST_MS or not self._reveal.isActive():
            self._reveal.start()

    def _uncover_next(self) -> None:
        if self._covered:
            self._covered.pop(0).uncover()
        self._since.invalidate()
        if self._covered:
            self._since.start()
            self._reveal.start()

    def showEvent(self, event: QShowEvent) -> None:
        """Catch up."""
        super().showEvent(event)
        self._throttle()

    def _arrange(self) -> None:
        for chart in self.charts.values():
            self._grid.add(chart)
        scroll = QScrollArea()
        scroll.setWidgetResizable(True)
        scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # it follows the chart that has the focus
        scroll.setAccessibleName("Charts")
        scroll.setFrameShape(QFrame.Shape.NoFrame)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setWidget(self._grid)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(GAP_SMALL)
        layout.addWidget(self.header)
        layout.addWidget(scroll, 1)

    def _toggled(self, name: str) -> None:
        self.set_shown(self.shown)
        if self.charts[name].isVisibleTo(self):
            self.charts[name].refresh()
        self.shown_changed.emit()

    def _turn_changed(self, turn: Turn | None) -> None:
        """A stored turn is drawn at once; one that begins has nothing to draw, and the engine needs the processor."""
        if turn is None or turn.rounds or turn.end is not None:
            self._changed()
            self._throttle.flush()
            return
        self._waiting = []
        self.series.update(turn)
        for name in self.shown:
            self.charts[name].clear()
        self._throttle.hold(FIRST_MS)

    def _changed(self, *_: object) -> None:
        if self.isVisible():
            self._throttle()

    def _redraw_soon(self) -> None:
        """All charts, one after the other."""
        began = time.thread_time()
        self.series.update(self._selection.turn)
        self._waiting, self._cost = list(self.shown), 1000 * (time.thread_time() - began)
        self._next.start()

    def _draw_next(self) -> None:
        began = time.thread_time()
        if self._waiting:
            self.charts[self._waiting.pop(0)].refresh()
        self._cost += (time.thread_time() - began) * 1000  # painting takes about twice as much again
        if self._waiting:
            self._next.start()
        else:
            self._throttle.set_interval(round(min(max(SHARE * self._cost, REFRESH_MS), SLOWEST_MS)))
