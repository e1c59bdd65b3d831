"""Rounds that the tree tests look at."""

from __future__ import annotations

import gc
from dataclasses import replace

import pytest

from engine.trace import KvChange, Round, Token, Turn
from tests.fake_turn import fake_turn


@pytest.fixture(scope="session", autouse=True)
def _skip_what_is_loaded() -> None:
    """The check that nothing is left behind collects garbage three times a test: not through all loaded modules."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def turn() -> Turn:
    """Sixty rounds of trees with 68 candidates, 24 of them verified."""
    return fake_turn(3, rounds=60, topk=4, depth=5, length=24)


@pytest.fixture(scope="session")
def shown(turn: Turn) -> Round:
    """A round that accepts several tokens, has rejected and pruned ones, and emits all."""
    return next(r for r in turn.rounds if len(r.accepted) == 3 and r.emitted[-1].source == "bonus")


@pytest.fixture(scope="session")
def plain() -> Round:
    """A round of plain decoding: nothing but the root."""
    return fake_turn(5, rounds=3, strategy="plain").rounds[1]


@pytest.fixture(scope="session")
def copied() -> Round:
    """A chain of sixteen copied tokens, all accepted, and the target's own."""
    shown = fake_turn(2, rounds=9, topk=1, depth=16, length=16, accept=1.0).rounds[4]
    assert len(shown.accepted) == 16
    return replace(shown, drafted_by="copy")


@pytest.fixture(scope="session")
def again(shown: Round) -> Round:
    """The same round with two rows that are run again before the root."""
    tokens = (Token(7, " once", "draft", 3, 0.5, 1.0), Token(8, "\n", "bonus", 4, 0.25, 1.0))
    kept = (0, 1, *(row + 2 for row in shown.kv.kept))
    return replace(shown, replayed=tokens, kv=KvChange(shown.kv.before, shown.kv.appended + 3, kept))
