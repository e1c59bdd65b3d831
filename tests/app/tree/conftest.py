"""Rounds that the tree tests look at."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from app.tree.view import TreeView
from engine.trace import KvChange, Node, Round, Token, Turn
from tests.fake_turn import fake_turn


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
def merged(shown: Round) -> Round:
    """Two levels of two, and a chain of three behind a match of three: its first token the head had as well.

    Nodes: 1 (both) and 2 under the root; 3 (copied), 4, 5 under 1, and 6, 7 under 2; 8 (copied) under 3.
    """
    parents, logs, kept = (0, 0, 1, 1, 1, 2, 2, 3), (0.75, 0.2, 0.75, 0.45, 0.3, 0.4, 0.1, 0.75), {0, 1, 3, 4, 5, 8}
    root = shown.nodes[0]._replace(active=True)
    nodes: list[Node] = [root]
    for i, (parent, p) in enumerate(zip(parents, logs, strict=True), start=1):
        above = nodes[parent]
        row = sorted(kept).index(i) if i in kept else -1
        log, rank = math.log(p), sum(other == parent for other in parents[: i - 1])
        path = above.cum_logprob + log
        node = Node(i, parent, above.depth + 1, rank, 90 + i, f" w{i}", log, path, i in parents, i in kept, row,
                    5 if row >= 0 else -1, " no" if row >= 0 else "", math.nan, False)  # fmt: skip
        nodes.append(node)
    own = Token(root.target_token, root.target_text, "bonus", 0, 0.5, 1.0)
    settings = replace(shown.settings, eagle_topk=2, eagle_depth=2, draft_predict_length=5, draft_min_probability=0.16)
    return replace(shown, settings=settings, nodes=tuple(nodes), accepted=(), emitted=(own,), text=own.text,
                   kv=KvChange(shown.kv.before, 6, (0,)), drafted_by="merged")  # fmt: skip


@pytest.fixture(scope="session")
def again(shown: Round) -> Round:
    """The same round with two rows that are run again before the root."""
    tokens = (Token(7, " once", "draft", 3, 0.5, 1.0), Token(8, "\n", "bonus", 4, 0.25, 1.0))
    kept = (0, 1, *(row + 2 for row in shown.kv.kept))
    return replace(shown, replayed=tokens, kv=KvChange(shown.kv.before, shown.kv.appended + 3, kept))


@pytest.fixture(scope="session")
def corrected(again: Round) -> Round:
    """The same again, but the second of these rows wants another token than the root: the tree is not walked."""
    confirmed = again.replayed[1]._replace(node=-1)
    right = Token(9, " upon", "correction", -1, 0.6, 1.5)
    nodes = (again.nodes[0]._replace(target_prob=math.nan), *(n._replace(accepted=False) for n in again.nodes[1:]))
    return replace(again, nodes=nodes, accepted=(), emitted=(confirmed, right), text="\n upon", provisional=(),
                   kv=KvChange(again.kv.before, again.kv.appended, (0, 1)))  # fmt: skip


@pytest.fixture
def view(on_screen):
    """A shown view of 800 by 500 pixels."""
    return on_screen(TreeView(), 800, 500)
