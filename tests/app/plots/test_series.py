"""The numbers under the charts: the same as the engine's own counts, however they are fed."""

import math
from dataclasses import replace

import numpy as np
import pytest

from app.plots.series import TIME_PARTS, WINDOW, RoundSeries
from engine import Turn
from tests.fake_turn import fake_turn


@pytest.fixture
def turn():
    """A turn longer than the running mean."""
    return fake_turn(3, rounds=40)


def test_counts_equal_the_engines(turn):
    """Two ways of counting that differ would show two truths on one screen."""
    series, stats = RoundSeries(), turn.stats()
    series.update(turn)
    assert series.tau == pytest.approx(stats.tau)
    assert dict(series.accepted_by_depth) == stats.accepted_by_depth
    assert dict(series.accepted_by_rank) == stats.accepted_by_rank
    assert dict(series.reached_by_depth) == stats.reached_by_depth
    for part in TIME_PARTS:
        assert series.times[part].values.sum() == pytest.approx(getattr(stats, f"{part}_ms"))


def test_a_round_that_grew_from_a_wrong_text_counts_for_no_depth(turn):
    """An exact reply may correct a token: the tree behind it was never walked, and the engine counts it nowhere."""
    first = turn.rounds[0]
    root = first.nodes[0]._replace(target_prob=math.nan)
    wrong = replace(first, nodes=(root, *first.nodes[1:]), accepted=(), replayed=(first.emitted[0],))
    corrected = Turn(turn.start, turn.prefill, [wrong, *turn.rounds[1:]])
    series = RoundSeries()
    series.update(corrected)
    assert wrong.corrected
    assert dict(series.reached_by_depth) == corrected.stats().reached_by_depth


def test_feeding_in_pieces_equals_feeding_at_once(turn):
    """Rounds arrive one by one while it streams."""
    whole, live = RoundSeries(), RoundSeries()
    whole.update(turn)
    growing = Turn(start=turn.start, prefill=turn.prefill)
    for shown in turn.rounds:
        growing.add(shown)
        assert live.update(growing)
        assert not live.update(growing)
    for name in ("emitted", "total"):
        assert np.array_equal(getattr(whole, name).values, getattr(live, name).values)
    assert live.accepted_by_depth == whole.accepted_by_depth


def test_another_turn_starts_anew(turn):
    """Numbers of two turns must never mix."""
    series = RoundSeries()
    series.update(turn)
    other = fake_turn(4, rounds=3)
    assert series.update(other)
    assert series.count == 3
    assert series.update(None)
    assert series.count == 0
    assert math.isnan(series.tau)


def test_running_means(turn):
    """Of the last rounds, fewer at the start; speed weighs by time."""
    series = RoundSeries()
    series.update(turn)
    emitted = [len(r.emitted) for r in turn.rounds]
    ms = [r.timings.total for r in turn.rounds]
    for i in (0, 3, WINDOW, 39):
        part = slice(max(0, i + 1 - WINDOW), i + 1)
        assert series.mean_emitted()[i] == pytest.approx(np.mean(emitted[part]))
        assert series.mean_speed()[i] == pytest.approx(1000 * sum(emitted[part]) / sum(ms[part]))
