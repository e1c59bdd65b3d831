"""The chart of the acceptance length: how many tokens each round gave."""

from __future__ import annotations

import math
from collections.abc import Iterable

import pyqtgraph as pg

from app.plots.chart import Row
from app.plots.round_chart import RoundChart
from app.plots.scale import nice
from app.plots.series import WINDOW
from app.theme import theme
from app.tree.words import plural


class AcceptanceChart(RoundChart):
    """Emitted tokens of each round, pale where they are copied text, and their running mean."""

    title = "Acceptance length"
    unit = "tokens"

    def build(self) -> None:
        """Steps and a line."""
        self._step = 0  # between two numbers of the axis
        self.bars = pg.PlotDataItem(stepMode="center", fillLevel=0, skipFiniteCheck=True)
        self.mean = pg.PlotDataItem(antialias=True, skipFiniteCheck=True)
        self.copied = pg.PlotDataItem(stepMode="center", fillLevel=0, skipFiniteCheck=True)
        self._copies = False
        self.item.addItem(self.bars)
        self.item.addItem(self.copied)
        self.item.addItem(self.mean)

    def recolor(self) -> None:
        """Sky for what came out, ink for the mean."""
        fill = theme().fate("drafted")
        fill.setAlpha(190)
        self.bars.setBrush(fill)
        self.bars.setPen(None)
        pale = theme().color("surface")
        pale.setAlpha(165)
        self.copied.setBrush(pale)
        self.copied.setPen(None)
        self.mean.setPen(pg.mkPen(theme().fate_ink("bonus"), width=2))

    def legend(self) -> list[str]:
        """The pale part, when there is one."""
        return (
            [f"<font color='{theme().color('text').name()}'>□\N{NO-BREAK SPACE}copied</font>"] if self._copies else []
        )

    def draw(self) -> None:
        """Tokens per round."""
        emitted = self.series.emitted.values
        self.bars.setData(self.edges(), emitted)
        copied = self.series.copied.values
        self.copied.setData(self.edges(), copied)
        if self._copies != bool(copied.any()):
            self._copies = not self._copies
            self.entitle()
        self.mean.setData(self.centers(), self.series.mean_emitted())
        top = max(4.0, float(emitted.max(initial=0)))
        step = math.ceil(nice(top / 4))  # whole tokens, and few enough numbers for a low chart
        if step != self._step:
            self._step = step
            self.item.getAxis("left").setTickSpacing(major=step, minor=step)
        self.set_ranges(self.x_range(), top)

    def value_at(self, x: float) -> str:
        """Tokens, running mean, τ."""
        i = self.index_at(x)
        if i < 0:
            return ""
        mean = self.series.mean_emitted()[i]
        copied = int(self.series.copied.values[i])
        tokens = plural(int(self.series.emitted.values[i]), "token") + (f", {copied} copied" if copied else "")
        return f"round {i + 1}\n{tokens}\nmean of {WINDOW}: {mean:.2f}\nτ {self.series.tau:.2f}"

    def headers(self) -> Row:
        """As shown."""
        return ["round", "emitted_tokens", "copied_tokens", f"running_mean_{WINDOW}"]

    def rows(self) -> Iterable[Row]:
        """Per round."""
        columns = (self.series.emitted.values, self.series.copied.values, self.series.mean_emitted())
        for i, (emitted, copied, mean) in enumerate(zip(*columns, strict=True)):
            yield [i + 1, int(emitted), int(copied), round(float(mean), 4)]
