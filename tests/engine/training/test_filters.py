"""Which text is dropped, on cases made by hand."""

from __future__ import annotations

import random

import pytest

from engine.training.filters import Seen, ends_in_loop, repeats_itself

VARIED = random.Random(1).choices(range(1000), k=200)


@pytest.mark.parametrize("period", [1, 2, 7, 20, 48])
def test_a_loop_at_the_end_is_found(period: int) -> None:
    """Three times the same stretch, and at least 24 tokens of it."""
    stretch = list(range(2000, 2000 + period))
    times = max(3, -(-24 // period))
    assert ends_in_loop(VARIED + stretch * times)
    assert not ends_in_loop(VARIED + stretch * (times - 1))
    assert not ends_in_loop(VARIED + stretch * times + [5])


def test_short_repetitions_are_no_loop() -> None:
    """A list with the same bullet, "no, no, no", a row of dots."""
    assert not ends_in_loop([7] * 20)
    assert not ends_in_loop([])
    assert not ends_in_loop([1, 2, 3])


def test_repetition_throughout() -> None:
    """The same sentence with small changes is no loop, but says nothing new."""
    sentence = list(range(12))
    circling = [token for i in range(12) for token in (*sentence, 500 + i)]
    assert not ends_in_loop(circling)
    assert repeats_itself(circling)
    assert not repeats_itself(VARIED)
    assert not repeats_itself(sentence * 2)


def test_near_duplicates() -> None:
    """One changed word in fifty makes no new conversation; another answer does."""
    seen = Seen()
    changed = [*VARIED[:100], 5000, *VARIED[101:]]
    assert seen.add(VARIED)
    assert not seen.add(list(VARIED))
    assert not seen.add(changed)
    assert seen.add(VARIED[::-1])
    assert seen.add([1, 2])
    assert not seen.add([1, 2])
    assert seen.add([1, 3])
