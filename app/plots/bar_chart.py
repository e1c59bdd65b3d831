"""The charts of bars over small whole numbers: acceptance by depth and by rank. They know no single round."""

from __future__ import annotations

import math
from collections.abc import Iterable

import pyqtgraph as pg

from app.plots.chart import Chart, Row
from app.theme import theme


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
