"""Rows of the verify pass and of the cache: computed from the record, checked against its rules."""

from __future__ import annotations

from dataclasses import replace

from app.tree.verify_pass import KvCounts, pass_rows, seen_by
from engine.trace import KvChange


def test_rows_are_numbered_as_in_the_pass(shown, again):
    """Replayed rows, root, nodes by their row, padding: nothing twice, nothing missing."""
    assert [r.row for r in pass_rows(shown)] == list(range(25))
    assert {r.row: r.node for r in pass_rows(shown)} == {n.row: n.id for n in shown.nodes if n.kept}
    rows = pass_rows(again)
    assert [r.row for r in rows] == list(range(28))
    assert [r.kind for r in rows[:3]] == ["replayed", "replayed", "root"]
    assert rows[27].kind == "padding"


def test_each_row_sees_itself_and_its_ancestors(shown):
    """The tree mask: no sibling, no descendant, no other branch."""
    rows = pass_rows(shown)
    for row, sees in zip(rows, seen_by(rows), strict=True):
        expected, at = set(), shown.nodes[row.node]
        while True:
            expected.add(at.row)
            if at.parent < 0:
                break
            at = shown.nodes[at.parent]
        assert sees == expected


def test_rows_run_again_form_a_chain_before_the_root(again):
    """They are ordinary text: the root and all nodes see them."""
    seen = seen_by(pass_rows(again))
    assert [sorted(s) for s in seen[:3]] == [[0], [0, 1], [0, 1, 2]]
    assert all({0, 1, 2} <= s for s in seen[3:27])
    assert seen[27] == {27}


def test_kept_rows_are_the_record_s(shown):
    """The strip must agree with the counter."""
    assert tuple(sorted(r.row for r in pass_rows(shown) if r.kept)) == tuple(sorted(shown.kv.kept))
    counts = KvCounts.of(shown)
    assert (counts.dropped, counts.after) == (21, shown.kv.before + 4)


def test_a_cut_round_keeps_less_than_it_accepted(shown):
    """At a stop, rows of accepted tokens that were cut off go as well."""
    cut = replace(shown, kv=KvChange(shown.kv.before, 25, shown.kv.kept[:2]))
    rows = pass_rows(cut)
    assert sum(r.kept for r in rows) == 2
    assert sum(r.accepted for r in rows) == 4
