"""Accuracy and chain τ of a head, counted by hand."""

from __future__ import annotations

import numpy as np
import pytest

from engine.training.score import Score, walk


def test_accuracy_is_counted_by_step() -> None:
    """Later steps have fewer rows, and batches add up."""
    score, other = Score(), Score()
    score.add(0, rows=10, right=8)
    score.add(1, rows=8, right=6)
    other.add(0, rows=10, right=4)
    score.join(other)
    assert score.accuracy == [12 / 20, 6 / 8]


@pytest.mark.parametrize(
    ("accepted", "rounds"),
    [
        ([0, 0, 0, 0, 0, 0, 0, 0, 0], 5),  # a token a round: those behind the first
        ([3, 0, 0, 3, 3, 0, 3, 3, 3], 2),  # a token alone, then four from the root at 4
        ([0, 0, 5, 0, 0, 0, 0, 0, 0], 2),  # a chain has three tokens, whatever would have been right behind them
        ([0, 0, 1, 3, 0, 2, 0, 0, 0], 3),  # 3 to 5, a token alone, 6 to 8; what stands at 3 is jumped over
    ],
)
def test_a_walk_goes_from_round_to_round(accepted: list[int], rounds: int) -> None:
    """As decoding does: places inside an accepted chain begin no round."""
    assert walk(np.array(accepted), [(3, 9)]) == (5, rounds)


def test_every_reply_is_walked() -> None:
    """A reply of one token has no round: the prompt gives it."""
    accepted = np.array([0, 1, 0, 9, 0, 0, 0])
    assert walk(accepted, [(2, 5), (5, 6)]) == (2, 1)


def test_tau_is_tokens_per_round() -> None:
    """One before anything was walked, as plain decoding."""
    score = Score()
    assert score.tau == 1.0
    score.add_walk(10, 4)
    score.add_walk(5, 4)
    assert score.tau == pytest.approx(15 / 8)
    assert str(score).endswith("chain τ 1.88")
