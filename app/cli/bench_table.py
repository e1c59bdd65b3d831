"""The tables that `bench` prints. Knows runs and their arithmetic; no engine."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from app.cli import bench_stats as stats
from app.cli.bench_run import PLAIN_ONE, PLAIN_TWO
from app.cli.bench_settings import inexact_twin
from app.cli.bench_stats import Run

Runs = dict[str, list[Run]]  # by setting, in the order to show
SHOWN_DIFFERENCES = 8


def by_setting(runs: Iterable[Run], names: Sequence[str]) -> Runs:
    """Runs grouped by setting."""
    out: Runs = {name: [] for name in names}
    for run in runs:
        out[run.setting].append(run)
    return out


def report(runs: Runs, *, by_category: bool = False) -> str:
    """Every table, ready to print."""
    parts = [summary(runs), rounds(runs), depths(runs), exactness(runs), costs(runs), differences(runs)]
    if by_category:
        parts.append(categories(runs))
    return "\n\n".join(part for part in parts if part)


def summary(runs: Runs) -> str:
    """τ, speed, speed-up over plain decoding with one row, identical texts."""
    rows = [["setting", "τ", "tok/s", "speed-up", "(quartiles)", "mean", "total", "same text"]]
    base = runs[PLAIN_ONE]
    for name, ours in runs.items():
        ratios = stats.spread(stats.speedups(ours, base).values())
        found = stats.differences(ours, runs[PLAIN_TWO])
        same = sum(d is None for d in found.values())
        rows.append(
            [
                name,
                _number(stats.acceptance_length(ours)),
                _number(stats.rate(ours), 1),
                _number(ratios.median),
                "" if name == PLAIN_ONE else f"{_number(ratios.low)}–{_number(ratios.high)}",
                _number(stats.mean_rate(ours) / stats.mean_rate(base) if base else math.nan),
                _number(stats.rate(ours) / stats.rate(base) if base else math.nan),
                "reference" if name == PLAIN_TWO else f"{same}/{len(found)}",
            ]
        )
    count = len(stats.by_prompt(base))
    return (
        f"{table(rows)}\n\n"
        "τ: emitted tokens per round, the model's own included. speed-up: tokens per second of decoding over those\n"
        f"of '{PLAIN_ONE}', median over {count} prompts and its quartiles; mean: the mean of the prompts' tokens\n"
        "per second over that of plain decoding, as Spec-Bench counts it; total: all tokens over all time.\n"
        f"same text: replies identical to '{PLAIN_TWO}'."
    )


def rounds(runs: Runs) -> str:
    """Mean milliseconds of a round by phase."""
    rows = [["ms per round", "draft", "verify", "commit", "host", "sum", "host share"]]
    for name, ours in runs.items():
        phases = stats.phases(ours)
        if phases is not None:
            total = sum((phases.draft, phases.verify, phases.commit, phases.host))
            values = [_number(ms) for ms in (phases.draft, phases.verify, phases.commit, phases.host, total)]
            rows.append([name, *values, f"{100 * phases.host / total:.1f} %" if total else ""])
    return table(rows)


def depths(runs: Runs) -> str:
    """Acceptance by depth: share of rounds that reached a depth in which a node there was accepted."""
    rates = {name: found for name, ours in runs.items() if (found := stats.depth_rates(ours))}
    deepest = max((max(found) for found in rates.values()), default=0)
    rows = [["accepted at depth", *(str(d) for d in range(1, deepest + 1))]]
    rows += [[n, *(_number(found.get(d, math.nan)) for d in range(1, deepest + 1))] for n, found in rates.items()]
    return table(rows) if rates else ""


def exactness(runs: Runs) -> str:
    """What was run again so that a tree gives the text of plain decoding, and how often that changed a token."""
    rows = [["exactness", "run again", "per round", "provisional", "corrected", "share"]]
    for name, ours in runs.items():
        found = stats.waits(ours)
        if name not in (PLAIN_ONE, PLAIN_TWO):
            counts = [str(found.replayed), _number(found.replayed_per_round), str(found.provisional)]
            rows.append([name, *counts, str(found.corrected), _percent(found.corrected_share)])
    return (
        f"{table(rows)}\n\n"
        "run again: rows of tokens accepted off the tree's first path, computed once more where plain decoding would\n"
        "have put them; provisional: tokens that waited for that; corrected: those it changed, and their share."
        if len(rows) > 1
        else ""
    )


def costs(runs: Runs) -> str:
    """Speed of each setting over that of its inexact twin, where both were measured."""
    rows = [["cost of exactness", "tok/s", "inexact", "speed-up", "(quartiles)", "total"]]
    for name, ours in runs.items():
        loose = runs.get(inexact_twin(name), [])
        if ours and loose:
            ratios = stats.spread(stats.speedups(ours, loose).values())
            rates = stats.rate(ours), stats.rate(loose)
            spread = f"{_number(ratios.low)}–{_number(ratios.high)}"
            rows.append(
                [name, *(_number(r, 1) for r in rates), _number(ratios.median), spread, _number(rates[0] / rates[1])]
            )
    return table(rows) if len(rows) > 1 else ""


def differences(runs: Runs) -> str:
    """Where replies leave the reference, and how close the decision was there."""
    lines = []
    for name, ours in runs.items():
        found = {p: d for p, d in stats.differences(ours, runs[PLAIN_TWO]).items() if d is not None}
        for prompt, d in list(found.items())[:SHOWN_DIFFERENCES]:
            margin = "" if math.isnan(d.margin) else f", top-two margin {d.margin:.2g}"
            lines.append(f"  {name}: prompt {prompt} at token {d.index}{margin}")
        if len(found) > SHOWN_DIFFERENCES:
            lines.append(f"  {name}: {len(found) - SHOWN_DIFFERENCES} more")
    return "\n".join([f"texts that differ from '{PLAIN_TWO}':", *lines]) if lines else ""


def categories(runs: Runs) -> str:
    """Median speed-up and τ of every setting, by category of the prompts."""
    names = [name for name in runs if name != PLAIN_ONE]
    rows = [["speed-up (τ)", "prompts", *names]]
    for category in dict.fromkeys(r.category for r in runs[PLAIN_ONE]):
        base = [r for r in runs[PLAIN_ONE] if r.category == category]
        row = [category or "(none)", str(len(stats.by_prompt(base)))]
        for name in names:
            ours = [r for r in runs[name] if r.category == category]
            ratio = stats.spread(stats.speedups(ours, base).values()).median
            row.append(f"{_number(ratio)} ({_number(stats.acceptance_length(ours))})")
        rows.append(row)
    return table(rows)


def table(rows: Sequence[Sequence[str]]) -> str:
    """Columns lined up: the first to the left, the others to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join(
        "  ".join(
            cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    )


def _percent(value: float) -> str:
    return "-" if math.isnan(value) else f"{100 * value:.1f} %"


def _number(value: float, digits: int = 2) -> str:
    return "-" if math.isnan(value) else f"{value:.{digits}f}"
