"""The n-gram rules, each against a text small enough to count by hand."""

from __future__ import annotations

import numpy as np
import pytest

from engine.ngram import MOST, Continuation, fcfs, followers, freqxlen, merge

A, B, C, D, X, Y = range(6)


def tokens(*ids: int) -> np.ndarray:
    """A text."""
    return np.array(ids, np.int32)


# After C comes D twice and X once; after B C comes D once and X once; after A B C comes X.
TEXT = tokens(A, B, C, X, Y, B, C, D, Y, C, D)


def test_every_key_length_is_counted() -> None:
    """Counts by hand, tokens in the order they were first seen."""
    found = followers(TEXT, [A, B, C], 4)
    assert [list(counts.items()) for counts in found] == [[(X, 1), (D, 2)], [(X, 1), (D, 1)], [(X, 1)]]
    assert followers(TEXT, [A, B, C], 2) == found[:2]


def test_a_key_that_never_occurred_ends_the_search() -> None:
    """What is longer cannot have occurred either."""
    assert followers(TEXT, [Y, A, C], 4) == [{X: 1, D: 2}]
    assert followers(TEXT, [7], 4) == []
    assert followers(tokens(A), [A], 4) == []
    assert followers(tokens(), [A], 4) == []


def test_the_end_of_the_text_is_no_occurrence() -> None:
    """Nothing follows it, and it must not be read beyond."""
    assert followers(tokens(A, B, A), [A], 1) == [{B: 1}]
    assert followers(tokens(B, A), [B, A], 2) == []


def test_the_beginning_of_the_text_is_no_longer_key() -> None:
    """Index -1 is the end of an array: a key must not wrap round."""
    assert followers(tokens(A, B, C, Y, C), [C, A], 2) == [{B: 1}]


def test_common_tokens_cost_little() -> None:
    """Only the first occurrences of a key count, but a longer key is still found among all."""
    text = tokens(*[A, B] * MOST, *[A, C] * MOST, D, A, X)
    assert followers(text, [A], 1) == [{B: MOST}]
    assert followers(text, [D, A], 2) == [{B: MOST}, {X: 1}]


def test_two_texts_count_together() -> None:
    """The conversation was seen before the file, whatever its lengths."""
    short, long = [{X: 1}], [{D: 2, X: 3}, {Y: 1}]
    assert [list(counts.items()) for counts in merge(short, long)] == [[(X, 4), (D, 2)], [(Y, 1)]]
    assert [list(counts.items()) for counts in merge(long, short)] == [[(D, 2), (X, 4)], [(Y, 1)]]
    assert short == [{X: 1}]
    assert merge([], []) == []


def test_freqxlen_takes_the_highest_product() -> None:
    """D 2 × 1 and 1 × 2 against X 1 × 3; shares are of the key where the score was won."""
    assert freqxlen(followers(TEXT, [A, B, C], 4)) == [Continuation(X, 3, 3, 1.0), Continuation(D, 2, 2, 0.5)]


def test_freqxlen_lets_a_frequent_short_key_win() -> None:
    """MNN's rule: four times after one token beats once after three."""
    text = tokens(A, B, C, X, *[C, D] * 4)
    assert freqxlen(followers(text, [A, B, C], 4)) == [Continuation(D, 4, 1, 0.8), Continuation(X, 3, 3, 1.0)]


def test_freqxlen_prefers_the_longer_key_among_equals() -> None:
    """2 × 1 against 1 × 2."""
    text = tokens(B, C, X, C, D, C, D)
    assert [c.token for c in freqxlen(followers(text, [B, C], 4))] == [X, D]


def test_fcfs_takes_what_came_first_after_the_longest_key() -> None:
    """Frequency does not matter, and shorter keys do not either."""
    text = tokens(B, C, X, B, C, D, B, C, D, C, Y)
    assert fcfs(followers(text, [B, C], 4)) == [Continuation(X, 1, 2, 1 / 3), Continuation(D, 2, 2, 2 / 3)]
    assert fcfs([]) == freqxlen([]) == []


@pytest.mark.parametrize(
    ("length", "share", "level"),
    [
        (1, 0.59, "low"),
        (1, 0.60, "medium"),
        (1, 0.89, "medium"),
        (1, 0.90, "high"),
        (2, 0.49, "low"),
        (2, 0.50, "medium"),
        (2, 0.80, "high"),
        (3, 0.50, "medium"),
        (3, 0.69, "medium"),
        (3, 0.70, "high"),
        (4, 0.39, "low"),
        (4, 0.40, "medium"),
        (4, 0.60, "high"),
        (5, 0.49, "medium"),
        (8, 0.50, "high"),
    ],
)
def test_strictness_asks_for_a_share_by_key_length(length: int, share: float, level: str) -> None:
    """MNN's table at its edges: `level` is the strictest that still drafts."""
    levels = ["low", "medium", "high"]
    found = Continuation(A, 1, length, share)
    assert [found.is_sure(name) for name in levels] == [i <= levels.index(level) for i in range(3)]
