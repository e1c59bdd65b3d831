"""The chart of tokens per second, beside what plain decoding does. Measures nothing itself."""

from __future__ import annotations

import math
from collections.abc import Iterable

import pyqtgraph as pg
from PySide6.QtCore import Qt

from app.plots.chart import Row
from app.plots.round_chart import RoundChart, most
from app.plots.series import WINDOW
from app.theme import theme


class SpeedChart(RoundChart):
    """Tokens per second of each round, their running mean, and what plain decoding does on this machine."""

    title = "Tokens per second"

    def build(self) -> None:
        """Steps, a line, and the calibrated line."""
        self.bars = pg.PlotDataItem(stepMode="center", fillLevel=0, skipFiniteCheck=True)
        self.mean = pg.PlotDataItem(antialias=True, skipFiniteCheck=True)
        self.plain = pg.InfiniteLine(angle=0)
        self.plain.hide()
        for item in (self.bars, self.mean, self.plain):
            self.item.addItem(item)
        self.plain_speed = math.nan
        self._plain: tuple[float | None, str] | None = None

    def set_plain(self, ms: float | None, reason: str = "") -> None:
        """Milliseconds of a plain pass, or why there is no line."""
        if (ms, reason) == self._plain:
            return
        self._plain = ms, reason
        self.plain_speed = 1000 / ms if ms else math.nan
        self.plain.setVisible(bool(ms))
        if ms:
            self.plain.setValue(self.plain_speed)
            self.plot.setToolTip(f"Dashed: plain decoding, measured on this machine at {ms:.1f} ms per token.")
        else:
            self.plot.setToolTip(f"The line of plain decoding is missing: {reason}.")
        self.entitle()
        self.plot.outdate()
        if not self.outdated:
            self.draw()

    def legend(self) -> list[str]:
        """The dashed line, when there is one."""
        if not self.plain_speed > 0:
            return []
        words = f"╌╌\N{NO-BREAK SPACE}plain\N{NO-BREAK SPACE}{self.plain_speed:.0f}"
        return [f"<font color='{theme().color('text').name()}'>{words}</font>"]

    def recolor(self) -> None:
        """Blue, with a dashed line to compare with."""
        fill = theme().fate_ink("accepted") if theme().dark else theme().fate("accepted")
        fill.setAlpha(110)
        self.bars.setBrush(fill)
        self.bars.setPen(None)
        self.mean.setPen(pg.mkPen(theme().fate_ink("bonus"), width=2))
        self.plain.setPen(pg.mkPen(theme().color("text"), width=1, style=Qt.PenStyle.DashLine))

    def draw(self) -> None:
        """Speed per round."""
        speed = self.series.speed()
        self.bars.setData(self.edges(), speed)
        self.mean.setData(self.centers(), self.series.mean_speed())
        top = most(speed)
        self.set_ranges(self.x_range(), max(top, 1.2 * self.plain_speed if self.plain_speed > 0 else 0))

    def value_at(self, x: float) -> str:
        """Speed, mean, gain."""
        i = self.index_at(x)
        if i < 0:
            return ""
        speed, mean = self.series.speed()[i], self.series.mean_speed()[i]
        gain = f"\n{mean / self.plain_speed:.2f}× plain" if self.plain_speed > 0 else ""
        return f"round {i + 1}\n{speed:.0f} tokens/s\nmean of {WINDOW}: {mean:.0f}{gain}"

    def headers(self) -> Row:
        """As shown."""
        return ["round", "tokens_per_second", f"running_mean_{WINDOW}", "plain_tokens_per_second"]

    def rows(self) -> Iterable[Row]:
        """Per round."""
        plain = round(self.plain_speed, 3) if self.plain_speed > 0 else ""
        for i, (speed, mean) in enumerate(zip(self.series.speed(), self.series.mean_speed(), strict=True)):
            yield [i + 1, round(float(speed), 3), round(float(mean), 3), plain]
