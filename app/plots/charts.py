"""The five charts: acceptance length, tokens per second, time per round, acceptance by depth and by rank."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtCore import Qt

from app.plots.chart import Chart, Row, nice
from app.plots.round_chart import RoundChart
from app.plots.series import TIME_PARTS, WINDOW
from app.theme import theme


def most(values: NDArray[np.float64]) -> float:
    """Top of the scale: a single odd round must not flatten the rest, so the highest 2 % may be cut."""
    if not len(values):
        return 1.0
    index = min(len(values) - 1, int(0.98 * len(values)))
    return 1.15 * float(np.partition(values, index)[index])


class AcceptanceChart(RoundChart):
    """Emitted tokens of each round and their running mean."""

    title = "Acceptance length"
    unit = "tokens"

    def build(self) -> None:
        """Steps and a line."""
        self._step = 0  # between two numbers of the axis
        self.bars = pg.PlotDataItem(stepMode="center", fillLevel=0, skipFiniteCheck=True)
        self.mean = pg.PlotDataItem(antialias=True, skipFiniteCheck=True)
        self.item.addItem(self.bars)
        self.item.addItem(self.mean)

    def recolor(self) -> None:
        """Sky for what came out, ink for the mean."""
        fill = theme().fate("drafted")
        fill.setAlpha(190)
        self.bars.setBrush(fill)
        self.bars.setPen(None)
        self.mean.setPen(pg.mkPen(theme().fate_ink("bonus"), width=2))

    def draw(self) -> None:
        """Tokens per round."""
        emitted = self.series.emitted.values
        self.bars.setData(self.edges(), emitted)
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
        tokens = int(self.series.emitted.values[i])
        return f"round {i + 1}\n{tokens} tokens\nmean of {WINDOW}: {mean:.2f}\nτ {self.series.tau:.2f}"

    def headers(self) -> Row:
        """As shown."""
        return ["round", "emitted_tokens", f"running_mean_{WINDOW}"]

    def rows(self) -> Iterable[Row]:
        """Per round."""
        for i, (emitted, mean) in enumerate(zip(self.series.emitted.values, self.series.mean_emitted(), strict=True)):
            yield [i + 1, int(emitted), round(float(mean), 4)]


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
        self.plain_reason = "not measured yet"

    def set_plain(self, ms: float | None, reason: str = "") -> None:
        """Milliseconds of a plain pass, or why there is no line."""
        self.plain_speed = 1000 / ms if ms else math.nan
        self.plain_reason = reason
        self.plain.setVisible(bool(ms))
        if ms:
            self.plain.setValue(self.plain_speed)
            self.plot.setToolTip(f"Dashed: plain decoding, measured on this machine at {ms:.1f} ms per token.")
        else:
            self.plot.setToolTip(f"The line of plain decoding is missing: {reason}.")
        self.entitle()
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


class _BarChart(Chart):
    """Bars over small whole numbers."""

    def build(self) -> None:
        """One bar item."""
        self.bars = pg.BarGraphItem(x=[0], height=[0], width=0.7)
        self.item.addItem(self.bars)
        self.item.getAxis("bottom").setTickSpacing(major=1, minor=1)

    def recolor(self) -> None:
        """Blue: accepted."""
        self.bars.setOpts(brush=theme().fate("accepted"), pen=theme().fate("accepted"))

    def bar(self, x: float, keys: Iterable[int]) -> int | None:
        """The bar under a place."""
        key = math.floor(x + 0.5)
        return key if key in keys else None


class DepthChart(_BarChart):
    """How often a depth was accepted, of the rounds that reached it."""

    title = "Accepted by depth"
    bottom = "depth in the tree"
    unit = "%\N{NO-BREAK SPACE}of\N{NO-BREAK SPACE}reached"

    def shares(self) -> dict[int, tuple[int, int]]:
        """Depth → (rounds accepted, rounds that reached it)."""
        return {d: (self.series.accepted_by_depth[d], n) for d, n in sorted(self.series.reached_by_depth.items())}

    def draw(self) -> None:
        """Percent per depth."""
        shares = self.shares() or {1: (0, 1)}
        heights = [100 * a / n for a, n in shares.values()]
        self.bars.setOpts(x=list(shares), height=heights, width=0.7)
        self.set_ranges((0.5, max(4, *shares) + 0.5), 100)

    def value_at(self, x: float) -> str:
        """Share and counts."""
        shares = self.shares()
        depth = self.bar(x, shares)
        if depth is None:
            return ""
        accepted, reached = shares[depth]
        return f"depth {depth}: {100 * accepted / reached:.0f} %\n{accepted} of {reached} rounds"

    def summary(self) -> str:
        """All depths."""
        return "; ".join(self.value_at(d).replace("\n", ", ") for d in self.shares()) or super().summary()

    def headers(self) -> Row:
        """As shown."""
        return ["depth", "rounds_reached", "rounds_accepted"]

    def rows(self) -> Iterable[Row]:
        """Per depth."""
        return [[d, n, a] for d, (a, n) in self.shares().items()]


class RankChart(_BarChart):
    """At which rank among its siblings the accepted token stood; rank 1 is the draft's first choice."""

    title = "Accepted by rank"
    bottom = "rank among siblings"
    unit = "%\N{NO-BREAK SPACE}of\N{NO-BREAK SPACE}accepted"

    def counts(self) -> dict[int, int]:
        """Rank from 1 → accepted tokens."""
        return {rank + 1: n for rank, n in sorted(self.series.accepted_by_rank.items())}

    def draw(self) -> None:
        """Percent per rank."""
        counts = self.counts() or {1: 0}
        total = sum(counts.values()) or 1
        self.bars.setOpts(x=list(counts), height=[100 * n / total for n in counts.values()], width=0.7)
        self.set_ranges((0.5, max(4, *counts) + 0.5), 100)

    def value_at(self, x: float) -> str:
        """Share and counts."""
        counts = self.counts()
        rank = self.bar(x, counts)
        if rank is None:
            return ""
        total = sum(counts.values())
        return f"rank {rank}: {100 * counts[rank] / total:.0f} %\n{counts[rank]} of {total} accepted"

    def summary(self) -> str:
        """All ranks."""
        return "; ".join(self.value_at(r).replace("\n", ", ") for r in self.counts()) or super().summary()

    def headers(self) -> Row:
        """As shown."""
        return ["rank", "accepted_tokens"]

    def rows(self) -> Iterable[Row]:
        """Per rank."""
        return list(self.counts().items())
