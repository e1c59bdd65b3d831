"""The chart of the time per round and of the parts it goes to."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyqtgraph as pg

from app.plots.chart import Row
from app.plots.round_chart import RoundChart, most
from app.plots.series import TIME_PARTS
from app.theme import theme


class TimeChart(RoundChart):
    """Milliseconds of each round, stacked: draft, verify, commit, host."""

    title = "Time per round"
    unit = "ms"

    def build(self) -> None:
        """One filled step curve per part; the sum of all lies behind."""
        self.parts = {
            part: pg.PlotDataItem(stepMode="center", fillLevel=0, skipFiniteCheck=True) for part in TIME_PARTS
        }
        for z, part in enumerate(reversed(TIME_PARTS)):
            self.parts[part].setZValue(z)
            self.item.addItem(self.parts[part])

    def recolor(self) -> None:
        """The theme's colours of the parts."""
        for part, item in self.parts.items():
            item.setBrush(theme().time(part))
            item.setPen(theme().time(part))

    def legend(self) -> list[str]:
        """A square for each part."""
        return [f"<font color='{theme().time(part).name()}'>■</font>\N{NO-BREAK SPACE}{part}" for part in TIME_PARTS]

    def draw(self) -> None:
        """Cumulative sums, the largest behind."""
        sums = np.zeros(self.series.count)
        for part in TIME_PARTS:
            sums = sums + self.series.times[part].values
            self.parts[part].setData(self.edges(), sums)
        top = most(sums)
        self.set_ranges(self.x_range(), top)

    def value_at(self, x: float) -> str:
        """Each part."""
        i = self.index_at(x)
        if i < 0:
            return ""
        parts = "\n".join(f"{part} {self.series.times[part].values[i]:.1f} ms" for part in TIME_PARTS)
        return f"round {i + 1}: {self.series.total.values[i]:.1f} ms\n{parts}"

    def headers(self) -> Row:
        """As shown."""
        return ["round", *(f"{part}_ms" for part in TIME_PARTS), "total_ms"]

    def rows(self) -> Iterable[Row]:
        """Per round."""
        for i in range(self.series.count):
            parts = [round(float(self.series.times[part].values[i]), 4) for part in TIME_PARTS]
            yield [i + 1, *parts, round(float(self.series.total.values[i]), 4)]
