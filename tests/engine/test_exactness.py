"""The promise: speculation changes how many passes a reply takes, and nothing of its text."""

from __future__ import annotations

from collections import Counter
from itertools import zip_longest
from typing import Any

import numpy as np
import pytest

from engine.config import EngineConfig, SamplingConfig
from engine.decoder import Decoder, Verified
from engine.sampling import Sampler
from engine.target import TargetModel
from engine.trace import Round
from tests.engine.conftest import Loaded
from tests.tiny import Tiny, TinySource
from tests.turns import COPY, GREEDY, MTP, PLAIN, TREE, WARM, ids, reply

PRECISIONS = ("float32", "int8", "int8-rowwise", "int8-mixed")
BRITTLE = TinySource(ties=0.01, brittle=True)
TREES = [(1, 3, 3), (1, 8, 16), (2, 1, 2), (2, 4, 10), (4, 3, 8), (4, 5, 24), (8, 2, 6), (8, 3, 64)]
OTHERS = [
    MTP,
    MTP.with_(draft_predict_length=9),
    COPY,
    COPY.with_(eagle_topk=1, draft_predict_length=4),
    COPY.with_(eagle_topk=8, draft_predict_length=40, draft_selection_rule="fcfs", ngram_match_maxlen=1),
    COPY.with_(draft_min_probability=0.5),
    TREE.with_(eagle_topk=4, draft_min_probability=0.1, eagle_lookup=1),
    TREE.with_(eagle_topk=2, draft_predict_length=24, eagle_lookup=1, eagle_merge=True),
]
TEXTS = ("hello there", "the quick brown fox", "an apple", "foo bar")


def tree(topk: int, depth: int, nodes: int, **changes: Any) -> EngineConfig:
    """Settings of a draft tree."""
    return TREE.with_(eagle_topk=topk, eagle_depth=depth, draft_predict_length=nodes, **changes)


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("source", [TinySource(), BRITTLE], ids=["sound", "brittle"])
@pytest.mark.parametrize("sampling", [GREEDY, WARM], ids=["greedy", "sampled"])
def test_any_tree_gives_the_text_of_plain_decoding(
    tiny: Loaded, precision: str, source: TinySource, sampling: SamplingConfig
) -> None:
    """Rows 1, 19: the same text to the last bit at any tree of any drafter, greedy and sampled with a seed."""
    model = tiny(Tiny(precision=precision, source=source, mtp="teacher"))
    want = ids(reply(model, PLAIN, sampling))
    assert len(want) == PLAIN.max_new_tokens
    configs = [*(tree(*t) for t in TREES), *OTHERS]
    assert [c for c in configs if ids(reply(model, c, sampling)) != want] == []


@pytest.mark.parametrize("precision", ["int8", "int8-rowwise"])
def test_the_brittle_model_would_show_a_difference(tiny: Loaded, precision: str) -> None:
    """The test above can fail: without exact mode the same trees give another text on most prompts."""
    model = tiny(Tiny(precision=precision, source=BRITTLE))
    differ = 0
    for text in TEXTS:
        want = reply(model, PLAIN.with_(max_new_tokens=120), text=text)
        loose = reply(model, tree(4, 4, 12, exact=False, max_new_tokens=120), text=text)
        differ += ids(loose) != ids(want)
    assert differ >= 2


@pytest.mark.parametrize("sampling", [GREEDY, WARM], ids=["greedy", "sampled"])
def test_results_off_the_first_path_are_never_trusted(
    tiny: Loaded, monkeypatch: pytest.MonkeyPatch, sampling: SamplingConfig
) -> None:
    """Rows that do not lie as in plain decoding may compute anything: they are run again and corrected."""
    model = tiny(Tiny(precision="int8"))
    rng = np.random.default_rng(0)
    forward = TargetModel.forward

    def poisoned(self: TargetModel, tokens: Any, positions: Any, sees: Any = None, last_only: bool = False) -> Any:
        out = forward(self, tokens, positions, sees, last_only)
        off = [] if sees is None else [r for r in range(len(sees)) if not sees[r, : r + 1].all()]
        for row in off:
            self.cache.data[:, :, self.cache.length + row] = rng.normal(0, 1, self.cache.data[:, :, 0].shape)
            out.logits[row] += rng.normal(0, 1, out.logits[row].shape)
            out.hidden[row] = rng.normal(0, 1, out.hidden[row].shape)
        return out

    want = ids(reply(model, PLAIN.with_(max_new_tokens=150), sampling))
    monkeypatch.setattr(TargetModel, "forward", poisoned)
    turn = reply(model, tree(4, 4, 12, max_new_tokens=150), sampling)
    assert ids(turn) == want
    assert sum(t.source == "correction" for t in turn.tokens) >= 3
    assert ids(reply(model, tree(4, 4, 12, max_new_tokens=150, exact=False), sampling)) != want
    copied = reply(model, OTHERS[-1].with_(max_new_tokens=150), sampling)
    assert ids(copied) == want
    assert any(r.replayed for r in copied.rounds)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_chains_need_no_exact_mode(tiny: Loaded, precision: str) -> None:
    """With topk 1 every accepted row lies where plain decoding puts it, so nothing is ever run again."""
    model = tiny(Tiny(precision=precision, source=BRITTLE))
    want = ids(reply(model, PLAIN))
    for exact in (True, False):
        turn = reply(model, tree(1, 5, 5, exact=exact))
        assert ids(turn) == want
        assert not any(r.replayed or r.provisional for r in turn.rounds)


def test_float32_trees_differ_at_near_ties_only(tiny: Loaded) -> None:
    """Row 1: without exact mode a float32 tree may leave plain decoding only where two logits are nearly equal."""
    model = tiny(Tiny(source=TinySource(ties=1e-4)))
    for text in TEXTS:
        plain, loose = reply(model, PLAIN, text=text), reply(model, tree(4, 4, 12, exact=False), text=text)
        first = next((i for i, (a, b) in enumerate(zip_longest(ids(plain), ids(loose))) if a != b), None)
        assert first is None or plain.tokens[first].margin < 1e-3


def test_trees_save_passes_by_every_kind_of_child(tiny: Loaded) -> None:
    """Row 26: second and third children are accepted, paths leave the first path, and fewer passes are needed."""
    ranks: Counter[int] = Counter()
    off_path = 0
    for text in TEXTS:
        turn = reply(tiny(Tiny()), TREE, text=text)
        stats = turn.stats()
        ranks.update(stats.accepted_by_rank)
        off_path += sum(bool(r.replayed) for r in turn.rounds)
        assert stats.tau > 1.5
        assert stats.rounds < 0.7 * len(ids(turn))
    assert min(ranks[rank] for rank in (0, 1, 2)) >= 3
    assert off_path >= 10


@pytest.mark.parametrize("sampling", [GREEDY, WARM], ids=["greedy", "sampled"])
@pytest.mark.parametrize(
    "config", [tree(4, 4, 12), tree(4, 4, 12, exact=False), *OTHERS], ids=lambda c: c.speculative_type
)
def test_every_token_is_drawn_from_its_own_row(
    tiny: Loaded, monkeypatch: pytest.MonkeyPatch, sampling: SamplingConfig, config: EngineConfig
) -> None:
    """Row 18: what is emitted is what the sampler draws from the target's logits at that node, in that pass."""
    passes: list[np.ndarray] = []
    verify = Decoder.verify

    def spy(self: Decoder, *args: Any, **kwargs: Any) -> Verified:
        verified = verify(self, *args, **kwargs)
        passes.append(verified.output.logits.copy())
        return verified

    monkeypatch.setattr(Decoder, "verify", spy)
    turn = reply(tiny(Tiny(precision="int8", source=BRITTLE, mtp="teacher")), config, sampling)
    assert len(passes) == len(turn.rounds)
    for round_, logits in zip(turn.rounds, passes, strict=True):
        _check_draws(round_, logits, Sampler(sampling))


def _check_draws(r: Round, logits: np.ndarray, sampler: Sampler) -> None:
    """Follow the tokens of a round from its first pending token down the tree."""
    head, node = len(r.replayed), 0
    position = r.kv.before
    for step, token in enumerate((*r.emitted, *r.provisional)):
        row = step if step < head else head + r.nodes[node].row
        assert token.id == sampler.draw(logits[row], position + step + 1)
        if step >= head:
            node = next((n.id for n in r.children(node) if n.kept and n.token == token.id), -1)
