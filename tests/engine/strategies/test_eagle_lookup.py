"""Copied text in the head's tree, and drafts that are small where they are unsure: shapes, passes, unchanged text."""

from __future__ import annotations

import math

import pytest

from engine import EngineConfig, Model, SamplingConfig, Turn
from engine.strategies.eagle import Eagle
from tests.engine.conftest import Loaded
from tests.tiny import Tiny, TinySource
from tests.turns import GREEDY, PLAIN, TREE, WARM, ids, reply

REPEATING = "the heron the heron the heron is on the sea"
MERGED = TREE.with_(eagle_lookup=2, eagle_merge=True, max_new_tokens=120)
SPARSE = TREE.with_(draft_min_probability=0.2)


@pytest.fixture
def model(tiny: Loaded) -> Model:
    """Near ties are frequent, and a copied token is right at times."""
    return tiny(Tiny(precision="int8", source=TinySource(ties=0.01, brittle=True)))


def rounds_by(turn: Turn) -> dict[str, int]:
    """How many rounds each drafter had."""
    found: dict[str, int] = {}
    for r in turn.rounds:
        found[r.drafted_by] = found.get(r.drafted_by, 0) + 1
    return found


@pytest.mark.parametrize("sampling", [GREEDY, WARM], ids=["greedy", "warm"])
def test_merged_trees_leave_the_text_alone(model: Model, sampling: SamplingConfig) -> None:
    """A copied chain beside the head's nodes is verified like any tree."""
    plain = reply(model, PLAIN.with_(max_new_tokens=120), sampling, REPEATING)
    merged = reply(model, MERGED, sampling, REPEATING)
    assert ids(merged) == ids(plain)
    assert rounds_by(merged)["merged"] > 0, "nothing was merged"


def test_a_merged_tree_holds_the_head_and_the_copy(model: Model) -> None:
    """The head's first level is whole, the copied chain hangs in it, and the budget is kept."""
    turn = reply(model, MERGED, text=REPEATING)
    shown = [r for r in turn.rounds if r.drafted_by == "merged"]
    assert all(sum(n.depth == 1 for n in r.nodes) in (4, 5) for r in shown)
    assert all(0 < r.verified <= MERGED.draft_predict_length for r in shown)
    estimates = {round(math.log(n / (n + 1)), 6) for n in range(2, 17)}
    for r in shown:
        first = [n for n in r.nodes if n.depth == 1]
        known = len(first) == 4  # the head had the copied token too; where it was surer, its probability counts
        assert any(round(n.logprob, 6) in estimates or (known and n.logprob > min(estimates)) for n in first)
    assert {n.rank for r in shown for n in r.nodes} >= {0, 1, 2, 3}


def test_a_copy_that_fills_the_draft_costs_no_pass(model: Model) -> None:
    """Nothing of the head's could be verified beside it."""
    turn = reply(model, MERGED.with_(draft_predict_length=2), text=REPEATING)
    assert rounds_by(turn)["copy"] > 0
    assert "merged" not in rounds_by(turn)


def test_unsure_nodes_are_not_verified(model: Model) -> None:
    """Only paths that reach the probability, and one node at the least; the rest stays in the record as pruned."""
    turn = reply(model, SPARSE)
    drafted = [r for r in turn.rounds if r.drafted]
    least = math.log(0.2)
    for r in drafted:
        kept = [n for n in r.nodes[1:] if n.kept]
        sure = [n for n in r.nodes[1:] if n.cum_logprob >= least]
        assert len(kept) == max(1, min(len(sure), SPARSE.draft_predict_length))
    assert {r.verified for r in drafted} != {SPARSE.draft_predict_length}, "nothing was ever left out"
    assert ids(turn) == ids(reply(model, PLAIN))


def test_no_pass_for_a_level_that_is_not_worth_it(model: Model) -> None:
    """The head runs once more only behind a path four times as likely as a node must be."""
    turn = reply(model, SPARSE)
    edge = math.log(4 * 0.2)
    seen = set()
    for r in (r for r in turn.rounds if r.drafted and r.drafted_by == "head"):
        for depth in range(1, SPARSE.eagle_depth):
            best = max((n.cum_logprob for n in r.nodes if n.depth == depth), default=-math.inf)
            deeper = any(n.depth == depth + 1 for n in r.nodes)
            assert not deeper or best >= edge - 1e-6
            seen.add(deeper)
    assert seen == {True, False}


def test_mtp_stops_early_too(model: Model) -> None:
    """One rule for all heads: `Mtp` drafts as `Eagle` does."""
    from engine.strategies.mtp import Mtp

    assert Mtp.draft is Eagle.draft


@pytest.mark.parametrize("key", ["draft_min_probability", "eagle_merge"])
def test_off_by_default(key: str) -> None:
    """MNN has neither: its settings alone must mean what they mean there."""
    assert getattr(EngineConfig(), key) == 0


@pytest.mark.parametrize(("least", "nodes", "levels"), [(0.26, 3, 1), (0.51, 1, 1)])
def test_what_the_window_says_of_high_chances(model: Model, least: float, nodes: int, levels: int) -> None:
    """Above a quarter the head makes one level, above a half one node: app/settings_words.py says so."""
    turn = reply(model, TREE.with_(draft_min_probability=least))
    drafted = [r for r in turn.rounds if r.drafted]
    assert max(n.depth for r in drafted for n in r.nodes) == levels
    assert max(r.verified for r in drafted) <= nodes
