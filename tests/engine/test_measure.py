"""Measuring: what is timed, what is scored, and that it leaves the caches empty."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from engine import ConfigError, Model, calibrate_plain, draft_times, quality, target_times
from engine.measure import _losses
from tests.tiny import DIMS, Tiny


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Model:
    """A tiny model."""
    return Model.load(Tiny().build(tmp_path_factory.mktemp("tiny")))


def test_times_are_measured_per_size_and_caches_left_empty(model: Model) -> None:
    """Every size gets a time, and a session that follows starts from nothing."""
    assert set(target_times(model, (1, 3), context=20, repeats=2)) == {1, 3}
    assert min(draft_times(model, (1, 2), context=20, repeats=2).values()) > 0
    assert calibrate_plain(model) > 0
    assert model.target.cache.length == model.draft.cache.length == 0  # type: ignore[union-attr]


def test_no_head_no_draft_times(tmp_path: Path) -> None:
    """Without a head there is nothing to time, and the error says so."""
    plain = Model.load(Tiny(head="none").build(tmp_path))
    with pytest.raises(ConfigError, match="no draft head"):
        draft_times(plain, (1,), context=4, repeats=1)


def test_quality_equals_one_pass_by_hand(model: Model) -> None:
    """Chunks must not change the loss: one pass over the whole text is the reference."""
    ids = np.random.default_rng(0).integers(3, DIMS.vocab_size, 200)
    found = quality(model, [ids.tolist()])
    model.reset()
    logits = model.target.forward(ids, np.arange(len(ids))).logits
    assert found.loss == pytest.approx(float(_losses(logits[:-1], ids[1:]).mean()), abs=1e-4)
    assert (found.top == logits[:-1].argmax(axis=1)).mean() > 0.98
    assert found.agreement(found) == 1


def test_losses_are_negative_log_likelihoods() -> None:
    """Hand-worked: equal logits over four tokens cost log 4."""
    assert _losses(np.zeros((1, 4), np.float32), np.array([2])) == pytest.approx([np.log(4)])
