"""The arithmetic of `bench`: runs in, rates, ratios and differences out. Pure: knows no engine, prints nothing.

A run is one prompt under one setting. All rates cover decoding alone: from the first token to the end of the turn.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class Run:
    """What one turn measured. Times in milliseconds, sums over all rounds of the turn."""

    prompt: str
    category: str
    setting: str
    ids: tuple[int, ...]  # the reply, first token included
    margins: tuple[float, ...]  # per token: the target's top-two margin where it was decided
    emitted: int  # tokens out of rounds: all but the first
    rounds: int
    drafted: int
    verified: int
    accepted: int
    decode_ms: float  # by the clock on the wall
    draft_ms: float
    verify_ms: float
    commit_ms: float
    prompt_tokens: int = 0
    prefill_ms: float = 0.0
    finish_reason: str = ""
    repeat: int = 0
    reached_by_depth: dict[int, int] = field(default_factory=dict)
    accepted_by_depth: dict[int, int] = field(default_factory=dict)
    replayed: int = 0  # rows run again
    provisional: int = 0  # tokens that had to wait for the next pass to confirm them
    corrected: int = 0  # of these, the ones that the next pass decided otherwise

    @property
    def host_ms(self) -> float:
        """Everything outside the model's three phases."""
        return max(0.0, self.decode_ms - self.draft_ms - self.verify_ms - self.commit_ms)


class Spread(NamedTuple):
    """Median and quartiles of `count` values."""

    median: float
    low: float
    high: float
    count: int


class Difference(NamedTuple):
    """Where two replies part: token index, and the reference's top-two margin there (nan where unknown)."""

    index: int
    margin: float


class Waits(NamedTuple):
    """What exactness took: sums over runs, and shares (nan where there is nothing to share)."""

    replayed: int
    provisional: int
    corrected: int
    replayed_per_round: float
    corrected_share: float  # of the provisional tokens


@dataclass(frozen=True, slots=True)
class Phases:
    """Mean milliseconds of one round."""

    draft: float
    verify: float
    commit: float
    host: float


def spread(values: Iterable[float]) -> Spread:
    """Median and quartiles, by linear interpolation; nan without values."""
    ordered = sorted(v for v in values if not math.isnan(v))
    return Spread(quantile(ordered, 0.5), quantile(ordered, 0.25), quantile(ordered, 0.75), len(ordered))


def quantile(ordered: Sequence[float], share: float) -> float:
    """Quantile of sorted values, interpolated linearly between neighbours; nan without values."""
    if not ordered:
        return math.nan
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def rate(runs: Iterable[Run]) -> float:
    """Tokens per second over all runs together; nan where nothing was decoded."""
    runs = list(runs)
    ms = sum(r.decode_ms for r in runs)
    return 1000.0 * sum(r.emitted for r in runs) / ms if ms > 0 else math.nan


def mean_rate(runs: Iterable[Run]) -> float:
    """Mean of the prompts' tokens per second, repeats pooled; nan without any. Spec-Bench's `speed.py` divides two.

    A prompt whose reply comes quickly weighs as much as one that takes long, so this is above `rate`.
    """
    rates = [found for ours in by_prompt(runs).values() if not math.isnan(found := rate(ours))]
    return sum(rates) / len(rates) if rates else math.nan


def acceptance_length(runs: Iterable[Run]) -> float:
    """τ: emitted tokens per round, the target's own included, over all runs together."""
    runs = list(runs)
    rounds = sum(r.rounds for r in runs)
    return sum(r.emitted for r in runs) / rounds if rounds else math.nan


def speedups(runs: Iterable[Run], base: Iterable[Run]) -> dict[str, float]:
    """Per prompt: tokens per second against those of `base` on the same prompt, repeats pooled."""
    ours, theirs = by_prompt(runs), by_prompt(base)
    return {p: rate(ours[p]) / rate(theirs[p]) for p in ours if p in theirs and rate(theirs[p]) > 0}


def by_prompt(runs: Iterable[Run]) -> dict[str, list[Run]]:
    """Runs by prompt, in their order."""
    out: dict[str, list[Run]] = {}
    for run in runs:
        out.setdefault(run.prompt, []).append(run)
    return out


def depth_rates(runs: Iterable[Run]) -> dict[int, float]:
    """Share of rounds in which a node of this depth was accepted, of those in which its parent was."""
    reached: Counter[int] = Counter()
    accepted: Counter[int] = Counter()
    for run in runs:
        reached.update(run.reached_by_depth)
        accepted.update(run.accepted_by_depth)
    return {depth: accepted[depth] / reached[depth] for depth in sorted(reached) if reached[depth]}


def phases(runs: Iterable[Run]) -> Phases | None:
    """Mean times of a round over all runs together; None without rounds."""
    runs = list(runs)
    rounds = sum(r.rounds for r in runs)
    if not rounds:
        return None
    draft, verify, commit, host = (
        sum(getattr(r, f"{name}_ms") for r in runs) / rounds for name in ("draft", "verify", "commit", "host")
    )
    return Phases(draft, verify, commit, host)


def waits(runs: Iterable[Run]) -> Waits:
    """Rows run again, provisional tokens and corrected ones over all runs together."""
    runs = list(runs)
    rounds = sum(r.rounds for r in runs)
    replayed, provisional, corrected = (
        sum(getattr(r, name) for r in runs) for name in ("replayed", "provisional", "corrected")
    )
    per_round = replayed / rounds if rounds else math.nan
    return Waits(replayed, provisional, corrected, per_round, corrected / provisional if provisional else math.nan)


def first_difference(run: Run, reference: Run) -> Difference | None:
    """Where `run`'s reply leaves `reference`'s; None when they are the same to the last token."""
    for i, (ours, theirs) in enumerate(zip(run.ids, reference.ids, strict=False)):
        if ours != theirs:
            return Difference(i, _margin(reference, i))
    if len(run.ids) == len(reference.ids):
        return None
    at = min(len(run.ids), len(reference.ids))
    longer = run if len(run.ids) > at else reference
    return Difference(at, _margin(longer, at))


def _margin(run: Run, index: int) -> float:
    return run.margins[index] if index < len(run.margins) else math.nan


def differences(runs: Iterable[Run], reference: Iterable[Run]) -> dict[str, Difference | None]:
    """Per prompt (first repeat): where the reply leaves the reference's, or None when identical."""
    theirs = {p: found[0] for p, found in by_prompt(reference).items()}
    ours = {p: found[0] for p, found in by_prompt(runs).items()}
    return {p: first_difference(run, theirs[p]) for p, run in ours.items() if p in theirs}
