"""The table of rounds: every column there, counts that add up, text a spreadsheet cannot run."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

import pytest

from engine.trace import Turn
from engine.trace_csv import COLUMNS, rounds_csv
from tests.fake_turn import fake_turn


def rows(turn: Turn) -> list[dict[str, str]]:
    """The table as a spreadsheet reads it."""
    return list(csv.DictReader(io.StringIO(rounds_csv(turn))))


@pytest.mark.parametrize("strategy", ["eagle", "plain"])
def test_columns_and_sums(strategy: str) -> None:
    """The header is the documented one; sums over the table are the turn's own statistics."""
    turn = fake_turn(4, strategy=strategy)
    table, stats = rows(turn), turn.stats()
    assert list(table[0]) == list(COLUMNS)
    assert len(table) == stats.rounds
    for column, total in (("drafted", stats.drafted), ("verified", stats.verified), ("accepted", stats.accepted)):
        assert sum(int(r[column]) for r in table) == total
    assert sum(int(r["emitted"]) for r in table) == stats.emitted
    assert sum(float(r["host_ms"]) for r in table) == pytest.approx(stats.host_ms, abs=0.02)
    assert "".join(json.loads(r["text"]) for r in table) == "".join(r.text for r in turn.rounds)


def test_who_drafted_is_a_column() -> None:
    """Copied rounds cost no draft pass: whoever averages draft times must be able to tell them apart."""
    turn = fake_turn(4, rounds=3)
    turn.rounds[2] = replace(turn.rounds[2], drafted_by="copy")
    assert [r["drafted_by"] for r in rows(turn)] == ["head", "head", "copy"]
    assert {r["drafted_by"] for r in rows(fake_turn(4, strategy="plain"))} == {"nothing"}


def test_how_it_copied_and_decided_are_columns() -> None:
    """Rounds with other settings must not be averaged together; an old trace does not tell, and its cells are empty."""
    turn = fake_turn(4, rounds=2)
    s = replace(turn.rounds[1].settings, eagle_lookup=3, eagle_merge=True, exact=None)
    turn.rounds[1] = replace(turn.rounds[1], settings=s)
    told = [(r["eagle_lookup"], r["eagle_merge"], r["exact"]) for r in rows(turn)]
    assert told == [("0", "False", "True"), ("3", "True", "")]


def test_text_is_inert() -> None:
    """Formulas, line breaks, quotes and broken characters stay one harmless cell on one line."""
    turn = fake_turn(4, rounds=1)
    turn.rounds[0] = replace(turn.rounds[0], text='=HYPERLINK("x")\n,\ud800')
    text = rounds_csv(turn)
    assert text.count("\n") == 2
    assert json.loads(rows(turn)[0]["text"]) == '=HYPERLINK("x")\n,?'
    text.encode()


def test_no_rounds() -> None:
    """Only the header."""
    assert rounds_csv(Turn()) == ",".join(COLUMNS) + "\n"
