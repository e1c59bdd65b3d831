"""Row 17: over many seeds, speculation samples what the model says: chi-square of the first two tokens."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from engine.config import EngineConfig, SamplingConfig
from engine.model import Model
from engine.session import ChatSession
from tests.engine.conftest import Loaded
from tests.tiny import Tiny, TinySource
from tests.turns import PLAIN, TREE, record, user

SEEDS = 800
LOOSE = TREE.with_(max_new_tokens=3, exact=False)
Pair = tuple[int, int]


def softmax(logits: np.ndarray, temperature: float) -> np.ndarray:
    """Probabilities in float64."""
    scaled = (logits - logits.max()).astype(np.float64) / temperature
    return np.exp(scaled) / np.exp(scaled).sum()


def expected(model: Model, temperature: float) -> dict[Pair, float]:
    """Probabilities of pairs of first tokens, straight from the target's logits; rare pairs are left out."""
    prompt = model.tokenizer.encode_chat(user("hi"))
    model.reset()
    first = softmax(model.target.forward(prompt, np.arange(len(prompt)), last_only=True).logits[0], temperature)
    found = {}
    for a in np.argsort(-first)[:12].tolist():
        model.reset()
        text = [*prompt, a]
        second = softmax(model.target.forward(text, np.arange(len(text)), last_only=True).logits[0], temperature)
        found |= {(a, b): float(first[a] * second[b]) for b in np.argsort(-second)[:12].tolist()}
    return {pair: share for pair, share in found.items() if share * SEEDS > 6}


def sample(model: Model, config: EngineConfig, temperature: float, start: int) -> tuple[Counter[Pair], int]:
    """How often each pair came, and how many second tokens were accepted drafts."""
    session, counts, drafts = ChatSession(model, config), Counter[Pair](), 0
    for seed in range(start, start + SEEDS):
        turn = record(session.generate(user("hi"), SamplingConfig(temperature, top_k=0, top_p=1.0, seed=seed)))
        ids, second = [*(t.id for t in turn.tokens), -1, -1], turn.tokens[1:2]
        counts[ids[0], ids[1]] += 1
        drafts += any(t.source == "draft" for t in second)
    return counts, drafts


def chi_square(counts: Counter[Pair], expected: dict[Pair, float]) -> tuple[float, int]:
    """Pearson's statistic over the pairs and "any other", and its degrees of freedom."""
    shares = [*expected.values(), 1 - sum(expected.values())]
    found = [*(counts[pair] for pair in expected), SEEDS - sum(counts[pair] for pair in expected)]
    return sum((f - SEEDS * p) ** 2 / (SEEDS * p) for f, p in zip(found, shares, strict=True)), len(shares) - 1


@pytest.mark.parametrize("temperature", [0.7, 1.0])
def test_first_two_tokens_have_the_models_distribution(tiny: Loaded, temperature: float) -> None:
    """Trees and plain decoding, each over its own seeds, fit the model's probabilities; 0.1 % significance.

    The seeds are fixed, so the test cannot fail by chance. It can fail: the other temperature does not fit.
    """
    model = tiny(Tiny(source=TinySource(context=0.3)))
    shares = expected(model, temperature)
    assert len(shares) >= 8
    for config, start in ((LOOSE, 0), (LOOSE.with_(exact=True), 10_000), (PLAIN.with_(max_new_tokens=2), 20_000)):
        counts, drafts = sample(model, config, temperature, start)
        statistic, freedom = chi_square(counts, shares)
        assert statistic < freedom + 3.3 * np.sqrt(2 * freedom)
        assert drafts > 0.2 * SEEDS or not config.speculative_type
        wrong, freedom = chi_square(counts, expected(model, 1.7 - temperature))
        assert wrong > freedom + 10 * np.sqrt(2 * freedom)
