"""Traces of other ages: what was added later may be missing and is then unknown, what is newer still is skipped."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from pathlib import Path

from engine.trace import Settings
from engine.trace_json import load_trace, save_trace, trace_from_json, trace_to_json
from tests.fake_turn import fake_turn

SHIPPED = sorted((Path(__file__).parents[2] / "assets" / "traces").glob("*.json.gz"))
LATER_SETTINGS = [f.name for f in fields(Settings) if f.default is None]


def test_who_drafted_is_kept_and_may_be_missing() -> None:
    """A copied draft is no guess of the window's; traces from before the field still load."""
    turn = fake_turn(1, rounds=3)
    turn.rounds[1] = replace(turn.rounds[1], drafted_by="copy")
    document = json.loads(trace_to_json(turn))
    assert [r.drafted_by for r in trace_from_json(json.dumps(document)).rounds] == ["head", "copy", "head"]
    for r in document["rounds"]:
        del r["drafted_by"]
    assert {r.drafted_by for r in trace_from_json(json.dumps(document)).rounds} == {"unknown"}


def test_settings_that_old_traces_do_not_tell_stay_unknown() -> None:
    """A default in their place would be shown as what the round used; the version stays, so older Eyries read on."""
    turn = fake_turn(1, rounds=2)
    document = json.loads(trace_to_json(turn))
    assert document["version"] == 1
    assert repr(trace_from_json(json.dumps(document))) == repr(turn)
    assert len(LATER_SETTINGS) == 9
    for r in document["rounds"]:
        for name in LATER_SETTINGS:
            assert r["settings"].pop(name) == getattr(turn.rounds[0].settings, name)
    assert document["prefill"].pop("chunk") == 128
    old = trace_from_json(json.dumps(document))
    assert {getattr(r.settings, name) for r in old.rounds for name in LATER_SETTINGS} == {None}
    assert old.prefill is not None
    assert old.prefill.chunk is None
    assert repr(trace_from_json(trace_to_json(old))) == repr(old)


def test_traces_that_ship_load_and_return(tmp_path: Path) -> None:
    """They are older than some fields: reading, saving and reading again changes nothing."""
    assert len(SHIPPED) == 3
    for path in SHIPPED:
        turn = load_trace(path)
        assert turn.rounds
        assert repr(load_trace(save_trace(tmp_path / path.name, turn))) == repr(turn)


def test_newer_and_older_fields() -> None:
    """An unknown key is skipped and a field with a default may be absent, so small additions need no new version."""
    turn = fake_turn(2)
    document = json.loads(trace_to_json(turn))
    document["rounds"][0]["mood"] = "good"
    for r in document["rounds"]:
        del r["replayed"], r["provisional"]
    del document["end"]["warning"]
    assert repr(trace_from_json(json.dumps(document))) == repr(turn)
