"""Sampling: the right distribution, the usual meaning of every setting, and draws that depend on position alone."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.config import SamplingConfig
from engine.errors import RuntimeUnavailable
from engine.sampling import Judge, Sampler, largest, uniform


def sampling(**values: float) -> SamplingConfig:
    """Temperature 1 and nothing truncated, unless said otherwise."""
    return SamplingConfig(**{"temperature": 1.0, "top_k": 0, "top_p": 1.0, **values})


def reference(logits: np.ndarray, config: SamplingConfig, history: Sequence[int] = ()) -> np.ndarray:
    """The distribution as Hugging Face's processors give it, one sorted step after the other, in float64. [V]"""
    x = logits.astype(np.float64)
    for token in set(history):
        x[token] = x[token] / config.repetition_penalty if x[token] > 0 else x[token] * config.repetition_penalty
    x = (x - x.max()) / config.temperature
    if config.top_k:
        x[x < np.sort(x)[-min(config.top_k, len(x))]] = -math.inf
    p = np.exp(x) / np.exp(x).sum()
    if config.top_p < 1:
        order = np.argsort(-p, kind="stable")
        above = np.concatenate(([0.0], np.cumsum(p[order])[:-1]))  # mass of the likelier tokens
        out = order[above >= config.top_p]
        p[out[out != order[0]]] = 0
    p[p < config.min_p * p.max()] = 0
    return p / p.sum()


def chi_square(counts: Counter[int], expected: np.ndarray, draws: int) -> tuple[float, float]:
    """The statistic over cells of at least 5 expected draws (the rest pooled) and its limit at 5 sigma."""
    cells = [(counts[t], draws * p) for t, p in enumerate(expected) if draws * p >= 5]
    rest = draws - sum(e for _, e in cells)
    if rest > 1:
        cells.append((draws - sum(o for o, _ in cells), rest))
    freedom = len(cells) - 1
    return sum((o - e) ** 2 / e for o, e in cells), freedom + 5 * math.sqrt(2 * freedom) + 10


def logits_of(size: int, seed: int = 0, spread: float = 2.0) -> np.ndarray:
    """Random float32 logits."""
    return (np.random.default_rng(seed).standard_normal(size) * spread).astype(np.float32)


SETTINGS = [
    sampling(),
    sampling(temperature=0.7),
    sampling(temperature=1.8, min_p=0.05),
    sampling(top_k=5),
    sampling(top_k=12, top_p=0.8),
    sampling(top_p=0.6),
    sampling(top_k=20, top_p=0.9, min_p=0.1, temperature=1.3),
    sampling(repetition_penalty=1.5),
    sampling(repetition_penalty=0.7, top_k=8),
]


@pytest.mark.parametrize("config", SETTINGS, ids=str)
@pytest.mark.parametrize("size", [50, 3000])
def test_distribution_is_the_reference(config: SamplingConfig, size: int) -> None:
    """Chi-square of 10,000 draws at consecutive positions against the slow float64 distribution."""
    logits, history, draws = logits_of(size), [3, 3, 7, 11, 20], 10_000
    expected = reference(logits, config, history)
    sampler = Sampler(config)
    counts = Counter(sampler.draw(logits, position, history) for position in range(draws))
    assert all(expected[token] > 0 for token in counts)
    statistic, limit = chi_square(counts, expected, draws)
    assert statistic < limit


def test_chi_square_notices_a_wrong_temperature() -> None:
    """The test above can fail: a sampler at 1.1 is not taken for one at 1.0."""
    logits, draws = logits_of(50), 20_000
    sampler = Sampler(sampling(temperature=1.1))
    counts = Counter(sampler.draw(logits, position) for position in range(draws))
    statistic, limit = chi_square(counts, reference(logits, sampling()), draws)
    assert statistic > limit


@given(
    st.lists(st.one_of(st.integers(-999, 999).map(lambda i: i / 64), st.just(-math.inf)), min_size=2, max_size=40),
    st.sampled_from([0, 1, 2, 3, 10, 1000]),
    st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.5, 1.0])),
    st.one_of(st.floats(0, 1), st.sampled_from([0.0, 1.0])),
    st.floats(0.1, 5),
    st.integers(0, 2**32),
)
@settings(max_examples=300, deadline=None)
def test_only_tokens_the_settings_leave(
    values: list[float], top_k: int, top_p: float, min_p: float, temperature: float, position: int
) -> None:
    """With any settings, ties and impossible tokens included, a draw is in the reference's support."""
    logits = np.array(values, np.float32)
    if not np.isfinite(logits.max()):
        return
    config = sampling(top_k=top_k, top_p=top_p, min_p=min_p, temperature=temperature)
    token = Sampler(config).draw(logits, position)
    generous = reference(logits, config.with_(top_p=min(1.0, top_p + 1e-6), min_p=max(0.0, min_p - 1e-6)))
    assert generous[token] > 0


@pytest.mark.parametrize("size", [40, 900, 5000, 49_152])
@pytest.mark.parametrize("top_k", [0, 40])
@pytest.mark.parametrize("top_p", [0.0, 0.3, 0.9, 0.999])
def test_nucleus_is_exact(size: int, top_k: int, top_p: float) -> None:
    """top_p keeps the reference's tokens, ties included: draws reach no other token, and all of a small set."""
    logits = np.round(logits_of(size, spread=0.5), 1)
    logits[: size // 2] -= 20
    config = sampling(top_k=top_k, top_p=top_p)
    support = set(np.flatnonzero(reference(logits, config)))
    sampler = Sampler(config)
    drawn = {sampler.draw(logits, position) for position in range(1500 if size < 10_000 else 300)}
    assert drawn <= support
    if len(support) <= 40:
        assert drawn == support


@pytest.mark.parametrize("size", [1, 5, 2047, 2048, 5000, 49_152])
@pytest.mark.parametrize("count", [1, 2, 40, 1024, 1500])
@pytest.mark.parametrize("decimals", [0, 6])
def test_largest_equals_a_sort(size: int, count: int, decimals: int) -> None:
    """The k largest with everything that ties with the last of them, for any vocabulary size and k."""
    logits = np.round(logits_of(size, seed=size + count), decimals)
    expected = np.flatnonzero(logits >= np.sort(logits)[-min(count, size)])
    assert np.array_equal(largest(logits, count), expected)


def test_at_least_one_token_is_kept() -> None:
    """The strictest settings leave the likeliest token, never none."""
    logits = logits_of(3000)
    best = int(logits.argmax())
    for values in ({"top_p": 0.0}, {"min_p": 1.0}, {"top_k": 1}, {"top_k": 3, "top_p": 0.0, "min_p": 1.0}):
        sampler = Sampler(sampling(**values))
        assert {sampler.draw(logits, position) for position in range(50)} == {best}


def test_greedy() -> None:
    """Temperature 0 takes the first of the largest logits and ignores every other setting but the penalty."""
    logits = np.array([1, 5, 5, 2], np.float32)
    assert Sampler(SamplingConfig(top_k=1, min_p=0.9, seed=3)).draw(logits, 0) == 1
    assert Sampler(SamplingConfig(repetition_penalty=3.0)).draw(logits, 0, [1, 2]) == 3


@pytest.mark.parametrize(
    "history", [[1, 1, 2], {1, 2}, np.array([2, 1, 1]), (t for t in (1, 2))], ids=lambda h: type(h).__name__
)
def test_penalty_takes_any_history(history: Iterable[int]) -> None:
    """List, set, array or generator: positive logits are divided, negative ones multiplied, each token once."""
    logits = np.array([1.0, 3.0, -1.0, 1.6], np.float32)
    assert Sampler(SamplingConfig(repetition_penalty=2.0)).draw(logits, 0, history) == 3  # 3 / 2 < 1.6


def test_penalty_of_negative_logits() -> None:
    """A negative logit is multiplied, so that the penalty always makes a token less likely."""
    logits = np.array([-1.0, -1.5], np.float32)
    assert Sampler(SamplingConfig(repetition_penalty=2.0)).draw(logits, 0, {0}) == 1


def test_no_history_changes_nothing() -> None:
    """A penalty without tokens to punish is no penalty."""
    logits = logits_of(3000)
    plain, punished = Sampler(sampling()), Sampler(sampling(repetition_penalty=1.7))
    assert [plain.draw(logits, i) for i in range(20)] == [punished.draw(logits, i, set()) for i in range(20)]


@given(st.integers(0, 2**63 - 1), st.lists(st.integers(0, 10_000), min_size=2, max_size=20, unique=True))
@settings(max_examples=40, deadline=None)
def test_draws_belong_to_their_position(seed: int, positions: list[int]) -> None:
    """Any order of asking, any sampler object, calls in between: the same (seed, position, logits) give one token."""
    logits = logits_of(600)
    config = sampling(seed=seed)
    first = Sampler(config)
    forwards = {p: first.draw(logits, p) for p in positions}
    second = Sampler(config)
    assert {p: second.draw(logits, p) for p in reversed(positions)} == forwards
    first.draw(logits_of(5000), 1)
    assert {p: first.draw(logits, p) for p in positions} == forwards


def test_positions_and_seeds_are_independent() -> None:
    """Uniform over positions and over seeds, without correlation between neighbours."""
    for pairs in ([(7, p) for p in range(20_000)], [(s, 7) for s in range(20_000)], [(s, s) for s in range(20_000)]):
        u = np.array([uniform(seed, position) for seed, position in pairs])
        counts = np.bincount((u * 100).astype(int), minlength=100)
        assert ((counts - 200) ** 2 / 200).sum() < 99 + 5 * math.sqrt(198)
        assert abs(np.corrcoef(u[:-1], u[1:])[0, 1]) < 5 / math.sqrt(len(u))
        assert u.min() >= 0
        assert u.max() < 1
    same = [uniform(1, p) for p in range(2, 500)]
    assert not set(same) & {uniform(2, p) for p in range(2, 500)}


def test_logits_are_not_modified() -> None:
    """The engine reads the same logits again for margins and probabilities."""
    for config in [*SETTINGS, SamplingConfig(repetition_penalty=2.0)]:
        logits = logits_of(3000)
        before = logits.copy()
        logits.flags.writeable = False
        Sampler(config).draw(logits, 5, [1, 2, 3])
        assert np.array_equal(logits, before)


def test_one_sampler_serves_vocabularies_of_any_size() -> None:
    """Scratch memory of a larger vocabulary leaves nothing behind in a smaller one."""
    sampler = Sampler(sampling(temperature=5.0))
    for size in (49_152, 300, 1, 513, 256):
        assert all(0 <= sampler.draw(logits_of(size), position) < size for position in range(30))


def test_tiny_temperature_is_greedy_without_warnings() -> None:
    """A temperature near 0 must not overflow; it takes the likeliest token."""
    logits = logits_of(3000) * 10
    for values in ({}, {"top_k": 40}, {"top_p": 0.9}, {"top_p": 1 - 2**-53}):
        assert Sampler(sampling(temperature=1e-300, **values)).draw(logits, 3) == logits.argmax()


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_broken_logits_are_said(bad: float, temperature: float) -> None:
    """NaN from a broken execution provider becomes one clear sentence, not a random token."""
    logits = np.full(10, bad if bad < 0 else 0.0, np.float32)
    logits[4] = bad
    with pytest.raises(RuntimeUnavailable, match="position 12"):
        Sampler(SamplingConfig(temperature=temperature)).draw(logits, 12)


def test_the_lead_of_the_best_logit() -> None:
    """How sure the target was, wherever the two largest are."""
    assert Judge()(np.array([1, 4, 2.5], np.float32), 0)[1] == 1.5
    assert Judge()(np.array([4, 1, 2], np.float32), 0)[1] == 2.0
    assert Judge()(np.array([1, 2, 4], np.float32), 0)[1] == 2.0
    assert Judge()(np.array([3, 3], np.float32), 0)[1] == 0.0
    assert Judge()(np.array([3], np.float32), 0)[1] == math.inf


def test_probability() -> None:
    """Softmax at temperature 1, with large logits and impossible tokens."""
    logits = logits_of(49_152)
    x = logits.astype(np.float64)
    expected = np.exp(x - x.max()) / np.exp(x - x.max()).sum()
    for token in (0, 17, int(logits.argmax())):
        assert Judge()(logits, token)[0] == pytest.approx(expected[token], rel=1e-4)
    assert Judge()(np.array([1000, 0, -np.inf], np.float32), 0)[0] == 1
    assert Judge()(np.array([1000, 0, -np.inf], np.float32), 2)[0] == 0
