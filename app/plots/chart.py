"""What all charts share: frame, theme, ranges, mouse. Knows no numbers and no files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyqtgraph as pg
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QToolButton, QVBoxLayout, QWidget

from app.plots.hover_value import HoverValue
from app.plots.kept_plot import KeptPlot
from app.plots.one_picture import AxisRoom, settle
from app.plots.scale import nice
from app.plots.series import RoundSeries
from app.theme import FONT_SIZE_DEFAULT, GAP_SMALL, theme

LEAST_HEIGHT, LABEL_HEIGHT = 104, 150  # below the second the name of the x axis is left out
TICKS = 0.78  # size of the numbers at the axes, as a part of the text's
RIGHT = 8  # between the last round and the edge: half a number of the axis fits
EMPTY = "No rounds yet. Send a message, or open a recorded run."
COMING = "The first rounds are on their way."
Row = Sequence[Any]


class Chart(QWidget):
    """A titled plot. Subclasses draw in `draw` and tell their numbers in `headers`, `rows` and `value_at`.

    What colours mean stands in the title line, which wraps: nothing is written over the plot or cut by its edge.
    """

    title = ""
    bottom = ""
    unit = ""  # of the y axis

    def __init__(self, series: RoundSeries, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.series = series
        self.plot = KeptPlot(viewBox=pg.ViewBox(enableMenu=False))
        self.plot.setAccessibleName(self.title)
        self.item: pg.PlotItem = self.plot.getPlotItem()
        self.item.setMenuEnabled(False)
        # WORKAROUND for https://github.com/pyqtgraph/pyqtgraph/issues/2672: its menu has no parent and would stay.
        self.item.ctrlMenu.setParent(self, self.item.ctrlMenu.windowFlags())
        self.item.hideButtons()
        self.item.setContentsMargins(1, 1, RIGHT, 1)
        self.view: pg.ViewBox = self.item.getViewBox()
        self.view.setMouseEnabled(x=True, y=False)
        self.view.setDefaultPadding(0)
        self._moved = False
        self._bottom_shown: bool | None = None
        self._room = AxisRoom(self.item)
        self._ranges: tuple[float, float, float, bool] | None = None
        for side in ("bottom", "left"):
            self.item.getAxis(side).enableAutoSIPrefix(False)
        self.item.getAxis("bottom").setStyle(hideOverlappingLabels=RIGHT)
        self.view.sigRangeChangedManually.connect(self._user_moved)
        self.view.sigRangeChanged.connect(self.plot.outdate)
        self.plot.scene().sigMouseMoved.connect(self._mouse_moved)
        self.plot.scene().sigMouseClicked.connect(self._mouse_clicked)
        self.empty = QLabel(EMPTY, self.plot, alignment=Qt.AlignmentFlag.AlignCenter, wordWrap=True)
        for widget in (self, self.empty):  # by the palette: a style sheet would polish every part of it anew
            widget.setBackgroundRole(QPalette.ColorRole.Base)
            widget.setAutoFillBackground(True)
        self.empty.setForegroundRole(QPalette.ColorRole.PlaceholderText)
        self._build()
        self.build()
        theme().changed.connect(self.restyle)
        self.restyle()

    # For subclasses.

    def build(self) -> None:
        """Make the items once."""

    def draw(self) -> None:
        """Put the series into the items and set the ranges."""

    def recolor(self) -> None:
        """Set colours of the items."""

    def legend(self) -> list[str]:
        """What lines and colours mean: pieces of HTML for the title line, which may break between them."""
        return []

    def headers(self) -> Row:
        """Column names of the CSV."""
        raise NotImplementedError

    def rows(self) -> Iterable[Row]:
        """Lines of the CSV."""
        raise NotImplementedError

    def value_at(self, x: float) -> str:
        """What the chart shows there, in words, a line each; "" for nothing."""
        raise NotImplementedError

    def clicked(self, x: float) -> None:
        """A click at that place."""

    def hovered(self, x: float | None) -> None:
        """The mouse is at that place, or outside."""

    # For everybody.

    def refresh(self) -> None:
        """Draw what the series holds now."""
        with self.plot.painted_once():
            self.draw()
            settle(self.item)
        self.empty.setText(EMPTY)
        self.empty.setVisible(not self.series.count)
        self.plot.setAccessibleDescription(self.summary())

    def clear(self) -> None:
        """A reply begins. What is there is only covered: laying out a plot anew is dear."""
        self.empty.setText(COMING)
        self.empty.show()
        self.plot.setAccessibleDescription(COMING)

    def cover(self, forget: bool = False) -> None:
        """Size or look (`forget`) have changed: lay out and paint a moment later, with `uncover`."""
        self.plot.hold(forget or not self.series.count)

    def uncover(self) -> None:
        """Show the right picture."""
        if self.plot.held:
            self.plot.release()
            with self.plot.painted_once():
                self._show_bottom()
                settle(self.item)

    def summary(self) -> str:
        """One line for those who cannot see the chart."""
        return self.value_at(self.series.count).replace("\n", ", ") if self.series.count else EMPTY

    def fit(self) -> None:
        """Show everything again after zooming."""
        self._moved = False
        self.draw()

    def set_ranges(self, x: tuple[float, float], top: float) -> None:
        """Show x from … to … and y from 0; x stays where the user moved it. Laying out axes is dear: only on change."""
        ranges = (*x, nice(top), self._moved)
        if ranges == self._ranges:
            return
        self._ranges, top = ranges, ranges[2]
        self._room.fit(top, theme().font(TICKS))
        self.view.setLimits(xMin=x[0], xMax=x[1], yMin=0)
        if not self._moved:
            self.view.setXRange(*x, padding=0)
        self.view.setYRange(0, top, padding=0.06)

    def restyle(self) -> None:
        """Follow the theme; pyqtgraph does not by itself."""
        muted, line = theme().color("muted"), theme().color("line")
        self.plot.setBackground(theme().color("surface"))
        for side in ("bottom", "left"):
            axis = self.item.getAxis(side)
            axis.setPen(line)
            axis.setTextPen(muted)
            axis.setTickFont(theme().font(TICKS))
        self._room.fit(self._ranges[2] if self._ranges else 0.0, theme().font(TICKS))
        style = {"color": muted.name(), "font-size": f"{theme().font_size * 0.8:.1f}pt"}
        self.item.getAxis("bottom").setLabel(self.bottom, **style)
        self._bottom_shown = None
        self._show_bottom()
        self.plot.outdate()
        self.name.setFont(theme().font(0.9))
        self.entitle()
        self.value.restyle()
        self.setMinimumHeight(round(LEAST_HEIGHT * theme().font_size / FONT_SIZE_DEFAULT))
        self.recolor()

    def entitle(self) -> None:
        """Write the title line: name, unit, what the colours mean."""
        muted = theme().color("muted").name()
        small = f"color:{muted}; font-size:{theme().font_size * 0.75:.1f}pt"
        marks = "".join(f"\N{EN SPACE}{mark}" for mark in (self.unit, *self.legend()) if mark)
        self.name.setText(f"<b>{self.title}</b><span style='{small}'>{marks}</span>")

    def resizeEvent(self, event: Any) -> None:
        """Keep the empty text over the plot."""
        super().resizeEvent(event)
        self.empty.setGeometry(self.plot.rect())
        if not self.plot.held:
            self._show_bottom()

    def leaveEvent(self, event: Any) -> None:
        """Nothing is hovered any more."""
        super().leaveEvent(event)
        self._say(None)

    def _build(self) -> None:
        self.name, self.value = QLabel(self.title, wordWrap=True), HoverValue(self.plot)
        self.name.setTextFormat(Qt.TextFormat.RichText)
        self.fit_button = QToolButton(text="Fit", autoRaise=True)
        self.fit_button.setToolTip("Show all rounds again after zooming")
        self.fit_button.clicked.connect(self.fit)
        self.fit_button.hide()
        self.header = QWidget()
        row = QHBoxLayout(self.header)
        row.setContentsMargins(GAP_SMALL * 2, GAP_SMALL, GAP_SMALL, 0)
        row.addWidget(self.name, 1)
        row.addWidget(self.fit_button)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.header)
        layout.addWidget(self.plot, 1)
        self.plot.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Ignored)  # it would like 640 × 480

    def _show_bottom(self) -> None:
        shown = self.height() >= LABEL_HEIGHT
        if shown != self._bottom_shown:
            self._bottom_shown = shown
            self.item.getAxis("bottom").showLabel(shown)
            self.plot.outdate()

    def _user_moved(self, *_: object) -> None:
        self._moved = True
        self.fit_button.show()

    def _place(self, position: QPointF) -> float | None:
        if not self.series.count or not self.view.sceneBoundingRect().contains(position):
            return None
        return float(self.view.mapSceneToView(position).x())

    def _mouse_moved(self, position: QPointF) -> None:
        x = self._place(position)
        self._say(x)
        if x is not None:
            self.value.avoid(position.x())

    def _say(self, x: float | None) -> None:
        self.value.say("" if x is None else self.value_at(x))
        self.hovered(x)

    def _mouse_clicked(self, event: Any) -> None:
        if event.button() != Qt.MouseButton.LeftButton:
            return
        if event.double():
            self.fit()
            self.fit_button.hide()
            return
        x = self._place(event.scenePos())
        if x is not None:
            self.clicked(x)
