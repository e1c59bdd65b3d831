from __future__ import annotations

import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.cli import bench_stats as stats
from app.cli.bench_stats import Run
from app.cli.bench_table import costs

VALUES = st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=40)


def run(prompt: str = "a", **changes: object) -> Run:
    """100 tokens in 50 rounds and one second."""
    values: dict[str, object] = {
        "prompt": prompt, "category": "", "setting": "x", "ids": (1, 2, 3), "margins": (0.5, 0.25, 0.125),
        "emitted": 100, "rounds": 50, "drafted": 200, "verified": 150, "accepted": 50,
        "decode_ms": 1000.0, "draft_ms": 100.0, "verify_ms": 800.0, "commit_ms": 20.0,
    }  # fmt: skip
    return Run(**{**values, **changes})  # type: ignore[arg-type]


@given(VALUES)
def test_quartiles_are_the_usual_ones(values: list[float]) -> None:
    """Linear interpolation, as numpy and the statistics module ("inclusive") do it."""
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    found = stats.spread(values)
    assert found.count == len(values)
    assert found[:3] == pytest.approx((median, low, high), rel=1e-9, abs=1e-6)


def test_no_values_give_nan() -> None:
    """A missing measurement must show as missing, not as zero."""
    found = stats.spread([math.nan])
    assert math.isnan(found.median)
    assert found.count == 0
    assert math.isnan(stats.rate([]))
    assert math.isnan(stats.acceptance_length([]))
    assert stats.phases([]) is None


def test_rates_pool_tokens_and_time() -> None:
    """Not the mean of rates: short replies must not weigh as much as long ones."""
    assert stats.rate([run(emitted=100, decode_ms=1000.0), run(emitted=300, decode_ms=1000.0)]) == 200.0
    assert stats.acceptance_length([run(emitted=10, rounds=10), run(emitted=90, rounds=30)]) == 2.5


def test_the_mean_rate_is_that_of_spec_bench() -> None:
    """Its speed-up is np.mean(speeds) / np.mean(speeds0), one speed a prompt; a reply of one token has none."""
    runs = [run("a", emitted=100), run("a", emitted=300, repeat=1), run("b", emitted=400, decode_ms=500.0)]
    assert stats.mean_rate([*runs, run("c", emitted=0, decode_ms=0.0)]) == (200.0 + 800.0) / 2
    assert math.isnan(stats.mean_rate([]))


def test_speedups_compare_the_same_prompt() -> None:
    """Per prompt, repeats pooled; a prompt that one side lacks has no ratio."""
    base = [run("a", decode_ms=1000.0), run("b", decode_ms=500.0)]
    fast = [run("a", decode_ms=400.0), run("a", decode_ms=600.0, repeat=1), run("c")]
    assert stats.speedups(fast, base) == {"a": 2.0}


def test_a_reply_of_one_token_has_no_speed() -> None:
    """Nothing was decoded after the first token: no ratio rather than a division by zero."""
    assert stats.speedups([run()], [run(emitted=0, rounds=0, decode_ms=0.0)]) == {}


def test_acceptance_by_depth_is_conditional() -> None:
    """Of the rounds that reached a depth, not of all rounds."""
    first = run(reached_by_depth={1: 10, 2: 4}, accepted_by_depth={1: 4, 2: 1})
    second = run(reached_by_depth={1: 10, 2: 4, 3: 2}, accepted_by_depth={1: 8, 2: 1})
    assert stats.depth_rates([first, second]) == {1: 0.6, 2: 0.25, 3: 0.0}


def test_waits_are_shares_of_all_rounds_and_provisional_tokens() -> None:
    """Sums first, then shares; a setting that never waits has no share of corrections."""
    found = stats.waits([run(rounds=30, replayed=9, provisional=8, corrected=1), run(rounds=10, replayed=1)])
    assert found == (10, 8, 1, 0.25, 0.125)
    none = stats.waits([run()])
    assert none[:4] == (0, 0, 0, 0.0)
    assert math.isnan(none.corrected_share)
    assert math.isnan(stats.waits([]).replayed_per_round)


def test_the_cost_of_exactness_compares_twins() -> None:
    """Each setting against its own inexact twin, prompt by prompt; a setting without a twin has no row."""
    runs = {
        "mtp 3": [run("a", decode_ms=1250.0), run("b", decode_ms=1000.0)],
        "mtp 3, inexact": [run("a", decode_ms=1000.0), run("b", decode_ms=1000.0)],
        "eagle 1,3,3": [run()],
    }
    head, row = (line.split() for line in costs(runs).splitlines())
    assert head[:3] == ["cost", "of", "exactness"]
    assert row == ["mtp", "3", "88.9", "100.0", "0.90", "0.85–0.95", "0.89"]
    assert costs({"mtp 3": [run()]}) == ""


def test_host_time_is_the_rest() -> None:
    """Phases of a round add up to its time on the wall clock."""
    phases = stats.phases([run(), run()])
    assert phases == stats.Phases(2.0, 16.0, pytest.approx(0.4), pytest.approx(1.6))


def test_differences_name_the_token_and_how_close_it_was() -> None:
    """The reference's margin tells a near tie from a fault."""
    reference = run(ids=(1, 2, 3))
    assert stats.first_difference(run(ids=(1, 2, 3)), reference) is None
    assert stats.first_difference(run(ids=(1, 9, 3)), reference) == (1, 0.25)


@pytest.mark.parametrize(("ids", "reference"), [((1, 2), (1, 2, 3)), ((1, 2, 3), (1, 2))])
def test_a_shorter_text_differs_where_it_ends(ids: tuple[int, ...], reference: tuple[int, ...]) -> None:
    """Stopping early is a difference too; the margin is the longer text's."""
    assert stats.first_difference(run(ids=ids), run(ids=reference)) == (2, 0.125)


def test_differences_take_the_first_repeat() -> None:
    """Repeats measure time again; texts are compared once per prompt."""
    runs = [run("a"), run("a", ids=(9,), repeat=1), run("b", ids=(9, 9, 9))]
    found = stats.differences(runs, [run("a"), run("b")])
    assert found == {"a": None, "b": (0, 0.5)}
