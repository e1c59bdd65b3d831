"""Row 20: the repetition penalty inside a span sees the history and the node's own ancestors, as in plain decoding."""

from __future__ import annotations

import numpy as np
import pytest

from engine.config import SamplingConfig
from engine.model import Model
from tests.engine.conftest import Loaded
from tests.tiny import Tiny
from tests.turns import ASK, COPY, MTP, PLAIN, TREE, ids, reply, user

PENALTY = 1.4


def by_hand(model: Model, count: int) -> list[int]:
    """Greedy decoding with the penalty, written out: one full pass over prompt and reply per token."""
    tokens = model.tokenizer.encode_chat(user(ASK))
    prompt = len(tokens)
    while len(tokens) < prompt + count:
        model.reset()
        logits = model.target.forward(tokens, np.arange(len(tokens)), last_only=True).logits[0].copy()
        seen = sorted(set(tokens))
        logits[seen] = np.where(
            logits[seen] > 0, logits[seen] / np.float32(PENALTY), logits[seen] * np.float32(PENALTY)
        )
        tokens.append(int(logits.argmax()))
    return tokens[prompt:]


def test_plain_decoding_penalises_all_that_was_written(tiny: Loaded) -> None:
    """Every token of prompt and reply counts, the first token of the reply included."""
    model = tiny(Tiny())
    config = PLAIN.with_(max_new_tokens=40)
    found = ids(reply(model, config, SamplingConfig(repetition_penalty=PENALTY)))
    assert list(found) == by_hand(model, 40)
    assert found != ids(reply(model, config))


@pytest.mark.parametrize("temperature", [0.0, 0.9])
def test_trees_penalise_as_plain_decoding_does(tiny: Loaded, temperature: float) -> None:
    """The same text at any tree, greedy and sampled, also where several tokens of a round are accepted."""
    model = tiny(Tiny(precision="int8", mtp="teacher"))
    sampling = SamplingConfig(repetition_penalty=PENALTY, temperature=temperature, seed=3)
    want = ids(reply(model, PLAIN, sampling))
    for topk, depth, nodes in ((1, 4, 4), (2, 3, 6), (4, 4, 16)):
        turn = reply(model, TREE.with_(eagle_topk=topk, eagle_depth=depth, draft_predict_length=nodes), sampling)
        assert ids(turn) == want
        assert any(len(r.accepted) > 1 for r in turn.rounds)
    for config in (MTP, COPY):
        assert ids(reply(model, config, sampling)) == want
