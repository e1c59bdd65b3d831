"""Schedules by hand, and runs that are told apart."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.errors import ConfigError
from engine.training.draft_vocab import choose, measured
from engine.training.plan import RunRecord, TrainingPlan
from engine.training.speed import Speed
from tests.engine.training.test_batches import many


def test_unroll_grows_in_equal_stages() -> None:
    """One step first, more later: the later steps are dear and quickly learnt."""
    plan = TrainingPlan(steps=90, unroll_from=1, unroll=3)
    assert [plan.unroll_at(step) for step in (0, 29, 30, 59, 60, 89, 200)] == [1, 1, 2, 2, 3, 3, 3]


def test_the_rate_warms_up_and_falls() -> None:
    """From a little to the whole, then to a twentieth."""
    plan = TrainingPlan(steps=1000, learning_rate=1e-3, warmup=0.1)
    rates = [plan.rate_at(step) for step in range(1000)]
    assert rates[0] == pytest.approx(1e-5)
    assert rates[99] == pytest.approx(1e-3)
    assert rates[999] == pytest.approx(5e-5, rel=0.01)
    assert rates[99:] == sorted(rates[99:], reverse=True)


def test_the_average_forgets_its_start() -> None:
    """Random first weights would stay in a long memory for the whole of a short run."""
    plan = TrainingPlan(steps=10, ema=0.999)
    assert plan.ema_at(0) == pytest.approx(0.1)
    assert plan.ema_at(100_000) == 0.999


def test_scores_come_at_even_distances_and_at_the_end() -> None:
    """The last state is always scored."""
    plan = TrainingPlan(steps=105, evaluations=10)
    assert [step for step in range(1, 106) if plan.scores_after(step)] == [*range(10, 101, 10), 105]


@pytest.mark.parametrize(
    "values", [{"steps": 0}, {"unroll": 8}, {"unroll": 1, "unroll_from": 2}, {"kind": "eagle9"}, {"ema": 1.0}]
)
def test_wrong_settings_are_named(values: dict[str, object]) -> None:
    """Before an hour is spent on them."""
    with pytest.raises(ConfigError, match=next(iter(values)).split("_", maxsplit=1)[0].replace("kind", "head")):
        TrainingPlan.from_mapping({"steps": 10, **values})


def test_a_record_comes_back(tmp_path: Path) -> None:
    """A run is continued only by the same settings."""
    record = RunRecord(TrainingPlan(steps=7, unroll=5, seed=3), "abc", "the target")
    record.write(tmp_path / "run.json")
    assert RunRecord.read(tmp_path / "run.json") == record
    assert RunRecord.read(tmp_path / "none.json") is None
    for text in ("", "[]", '{"plan": {"steps": -1}}', '{"plan": {"steps": 5}}'):
        (tmp_path / "run.json").write_text(text, encoding="utf-8")
        with pytest.raises(ConfigError):
            RunRecord.read(tmp_path / "run.json")


def test_updates_that_fit_into_the_time() -> None:
    """Making hidden states counts in the first pass, or always where nothing is stored."""
    speed = Speed(tokens=1000, first=1.0, last=3.0, hidden=0.004)
    hour = 3600 * 0.93
    assert speed.updates_in(1, 0, stored=True) == int(hour / 2)
    assert speed.updates_in(1, 100_000, stored=True) == int((hour - 400) / 2)
    assert speed.updates_in(1, 10**9, stored=True) == int(hour / 6)
    assert speed.updates_in(1, 100_000, stored=False) == int(hour / 6)
    assert speed.updates_in(0.002, 0, stored=True) == 20


def test_the_draft_vocabulary_is_what_replies_use_most() -> None:
    """And its coverage is what it says."""
    data = many()
    chosen = choose(data, 100, 30)
    replies = data.ids[data.reply_mask()].tolist()
    counts = sorted((replies.count(token) for token in set(replies)), reverse=True)
    assert sorted((replies.count(token) for token in chosen.ids), reverse=True) == counts[:30]
    assert chosen.coverage == pytest.approx(sum(counts[:30]) / len(replies))
    assert (chosen.ids[:-1] < chosen.ids[1:]).all()
    assert (chosen.d2t + range(30) == chosen.ids).all()
    assert choose(data, 100, 1000).coverage == 1.0
    assert measured(chosen.ids, data).coverage == chosen.coverage
