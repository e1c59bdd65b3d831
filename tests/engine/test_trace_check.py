"""What cannot be in a trace is one sentence that names the place, however a document is damaged."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import TraceError
from engine.trace import Node, Turn
from engine.trace_csv import rounds_csv
from engine.trace_json import trace_from_json, trace_to_json
from tests.fake_turn import fake_turn

Change = Callable[[dict[str, Any]], Any]


DAMAGE: list[tuple[Change, str]] = [
    (lambda d: d.update(version=2), "version 2, this Eyrie reads version 1: update Eyrie"),
    (lambda d: d.update(version=10**4000), "update Eyrie"),
    (lambda d: d.update(version=0), "its version is '0'"),
    (lambda d: d.update(version="1"), "its version is '1'"),
    (lambda d: d.update(version=True), "its version is 'True'"),
    (lambda d: d.update(format="other"), "not an Eyrie trace"),
    (lambda d: d.pop("version"), "its version is 'None'"),
    (lambda d: (d.pop("rounds"), d.pop("end")), "rounds, end is missing"),
    (lambda d: d.update(rounds={}), "rounds is not a list"),
    (lambda d: d.update(rounds=[None]), "round 0 is not an object"),
    (lambda d: d.update(strings=[1]), "strings is not a list of texts"),
    (lambda d: d["strings"].clear(), "stands for nothing"),
    (lambda d: d["rounds"][1].pop("kv"), "round 1 lacks kv"),
    (lambda d: d["rounds"][1]["nodes"].pop("rank"), "round 1, nodes lacks rank"),
    (lambda d: d["rounds"][1]["nodes"]["rank"].pop(), "unequal length"),
    (lambda d: d["rounds"][1]["nodes"].update(rank=5), "a column that is not a list"),
    (lambda d: d["rounds"][1].update(nodes=[]), "round 1: its tree has no root"),
    (lambda d: d["rounds"][1].update(nodes={k: [] for k in d["rounds"][1]["nodes"]}), "its tree has no root"),
    (lambda d: d["rounds"][1].update(nodes={k: v * 100 for k, v in d["rounds"][1]["nodes"].items()}), "over 4096 rows"),
    (lambda d: d["rounds"][1].update(position="x"), "round 1, position must hold whole numbers"),
    (lambda d: d["rounds"][1].update(position=1.0), "round 1, position must hold whole numbers"),
    (lambda d: d["rounds"][1].update(position=-1), "position is negative"),
    (lambda d: d["rounds"][1].update(position=2**64), "beyond 64 bits"),
    (lambda d: d["rounds"][1].update(text=None), "round 1, text must hold texts"),
    (lambda d: d["rounds"][1].update(accepted=3), "round 1, accepted is not a list"),
    (lambda d: d["rounds"][1]["timings"].update(draft="fast"), "timings, draft must hold numbers"),
    (lambda d: d["rounds"][1]["timings"].update(draft=10**300), "timings, draft must hold numbers"),
    (lambda d: d["rounds"][1]["timings"].update(draft=None), "a time is negative or missing"),
    (lambda d: d["rounds"][1]["timings"].update(total=-1), "a time is negative or missing"),
    (lambda d: d["rounds"][1]["settings"].update(top_p="inf"), "a setting is missing"),
    (lambda d: d["rounds"][1]["settings"].update(draft_min_probability=7.0), "draft_min_probability is no probability"),
    (lambda d: d["rounds"][1]["settings"].update(exact=1), "round 1, settings, exact must hold true or false"),
    (lambda d: d["rounds"][1]["settings"].update(eagle_lookup=True), "eagle_lookup must hold whole numbers"),
    (lambda d: d["rounds"][1]["settings"].update(eagle_topk=None), "settings, eagle_topk must hold whole numbers"),
    (lambda d: d["prefill"].update(chunk=0.5), "prefill, chunk must hold whole numbers"),
    (lambda d: d["rounds"][1]["nodes"]["parent"].__setitem__(3, 3), "node 3 hangs on node 3"),
    (lambda d: d["rounds"][1]["nodes"]["parent"].__setitem__(3, -1), "node 3 hangs on node -1"),
    (lambda d: d["rounds"][1]["nodes"]["id"].__setitem__(3, 4), "node 3 has id 4"),
    (lambda d: d["rounds"][1]["nodes"]["depth"].__setitem__(3, 4), "node 3 has depth 4 below depth 0"),
    (lambda d: d["rounds"][1]["nodes"]["rank"].__setitem__(3, -1), "node 3 has rank -1"),
    (lambda d: d["rounds"][1]["nodes"]["row"].__setitem__(0, 1), "no root"),
    (lambda d: d["rounds"][1]["nodes"]["kept"].__setitem__(0, 0), "root is not verified"),
    (lambda d: d["rounds"][1]["nodes"]["kept"].__setitem__(0, 2), "stands for nothing"),
    (lambda d: d["rounds"][1]["nodes"]["row"].__setitem__(1, 999), "verified nodes have rows"),
    (lambda d: d["rounds"][1]["nodes"]["row"].__setitem__(1, -1), "without a row"),
    (lambda d: d["rounds"][1].update(index=7), "round 1: it is numbered 7"),
    (lambda d: d["rounds"][1].update(accepted=[1, 2]), "accepted node 2 is not a verified child of node 1"),
    (lambda d: d["rounds"][1].update(accepted=[999]), "accepted node 999"),
    (lambda d: d["rounds"][1]["nodes"]["accepted"].__setitem__(-1, 1), "marked as accepted"),
    (lambda d: d["rounds"][1]["emitted"]["node"].__setitem__(0, 9999), "a node that does not exist"),
    (lambda d: d["rounds"][1]["emitted"]["node"].__setitem__(0, 2), "not the accepted nodes"),
    (lambda d: d["rounds"][1]["emitted"]["id"].__setitem__(0, 5), "not the token of its node"),
    (lambda d: d["rounds"][1]["emitted"]["source"].__setitem__(0, 0), "not one of first, plain, draft"),
    (lambda d: [c.extend([c[-1]] * 9) for c in d["rounds"][1]["emitted"].values()], "it emits 1"),
    (lambda d: d["rounds"][1].update(drafted_by="luck"), "drafted_by is not one of unknown, nothing, head"),
    (lambda d: d["rounds"][1].update(drafted_by="nothing"), "candidates, drafted by nothing"),
    (lambda d: d["rounds"][1]["emitted"]["raw"].__setitem__(0, 1), "bytes are not those of its text"),
    (lambda d: d["prefill"]["first"].update(raw="e697"), "the bytes of its first token"),
    (lambda d: d["prefill"]["first"].update(raw="no"), "the bytes of its first token"),
    (lambda d: d["rounds"][1]["kv"].update(appended=2), "its cache grows by 2 rows"),
    (lambda d: d["rounds"][1]["kv"].update(kept=[0, 999]), "out of range"),
    (lambda d: d["rounds"][1]["kv"].update(kept=[1, 0]), "out of order"),
    (lambda d: d["end"].update(finish_reason="bored"), "end, finish_reason is not one of"),
    (lambda d: d["end"]["token_ids"].__setitem__(0, 1), "the tokens of its rounds"),
    (lambda d: d["end"].update(text="?"), "the text of its rounds"),
    (lambda d: d["prefill"].pop("first"), "prefill lacks first"),
    (lambda d: d.update(start=[]), "start is not an object"),
]


@pytest.mark.parametrize(("change", "message"), DAMAGE, ids=[m for _, m in DAMAGE])
def test_damage_is_named(change: Change, message: str) -> None:
    """Each contradiction is one sentence that names the place."""
    document = json.loads(trace_to_json(fake_turn(5, accept=0.95, rounds=3)))
    change(document)
    with pytest.raises(TraceError) as caught:
        trace_from_json(json.dumps(document))
    assert message in str(caught.value)
    assert str(caught.value).endswith(".")
    assert len(str(caught.value)) < 300


JUNK = [
    None,
    True,
    False,
    -1,
    0,
    1,
    2**63,
    -(10**30),
    0.5,
    1e308,
    "",
    "inf",
    "draft",
    "x",
    [],
    [0],
    [[]],
    {},
    {"id": 0},
]


def walk(data: Any, rng: random.Random) -> None:
    """Change one thing somewhere inside `data`."""
    keys = list(data) if isinstance(data, dict) else list(range(len(data)))
    if not keys:
        return
    key = rng.choice(keys)
    if isinstance(data[key], dict | list) and data[key] and rng.random() < 0.85:
        walk(data[key], rng)
    elif rng.random() < 0.2:
        del data[key]
    elif rng.random() < 0.2:
        data[key] = copy.deepcopy(data[rng.choice(keys)])
    elif type(data[key]) is int and rng.random() < 0.5:
        data[key] += rng.choice([-1, 1])
    else:
        data[key] = copy.deepcopy(rng.choice(JUNK))


SAMPLES = [trace_to_json(fake_turn(s, rounds=2, topk=2, depth=3, length=4, accept=0.8)) for s in range(4)]


def use(turn: Turn) -> None:
    """What front ends do with a trace they were given."""
    turn.stats()
    assert isinstance(turn.text, str)
    rounds_csv(turn)
    for r in turn.rounds:
        for node in r.nodes:
            assert isinstance(node, Node)
            r.fate(node)
            r.children(node.id)
    assert repr(trace_from_json(trace_to_json(turn))) == repr(turn)


@given(st.integers(0, 3), st.integers(0, 2**32), st.integers(1, 3))
@settings(max_examples=500, deadline=None)
def test_damaged_documents(sample: int, seed: int, times: int) -> None:
    """A changed document is refused with a TraceError, or is a trace that every consumer can use."""
    rng = random.Random(seed)
    document = json.loads(SAMPLES[sample])
    for _ in range(times):
        walk(document, rng)
    try:
        turn = trace_from_json(json.dumps(document))
    except TraceError:
        return
    use(turn)


@given(st.integers(0, 3), st.integers(0, 2**32))
@settings(max_examples=200, deadline=None)
def test_damaged_text(sample: int, seed: int) -> None:
    """Cut, flipped or doubled characters: the same."""
    rng = random.Random(seed)
    text = SAMPLES[sample]
    a, b = sorted(rng.randrange(len(text)) for _ in range(2))
    damaged = rng.choice(
        [text[:a], text[:a] + text[b:], text[:b] + text[a:], text[:a] + rng.choice('"{}[],1e-') + text[a:]]
    )
    try:
        turn = trace_from_json(damaged)
    except TraceError:
        return
    use(turn)
