"""The rows of a round's verify pass, who sees whom, and which cache rows stay. Computed from the record; Qt-free."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from app.tree.words import visible
from engine.trace import Round

RowKind = Literal["replayed", "root", "node", "padding"]


@dataclass(frozen=True, slots=True)
class PassRow:
    """One row of the pass."""

    row: int  # from 0, replayed rows first
    kind: RowKind
    node: int  # node id, beyond them for replayed rows (as the selection numbers them); -1 for padding
    text: str  # symbols instead of spaces and controls
    parent: int  # row it hangs on; -1: on the context
    kept: bool  # its cache row stays after the round
    accepted: bool  # replayed, root or on the accepted path


def pass_rows(shown: Round) -> tuple[PassRow, ...]:
    """All rows in order; what the pass appended beyond tokens is padding."""
    first, kept = len(shown.replayed), frozenset(shown.kv.kept)
    rows = [
        PassRow(i, "replayed", len(shown.nodes) + 1 + i, visible(t.text), i - 1, i in kept, True)
        for i, t in enumerate(shown.replayed)
    ]
    verified = sorted((n for n in shown.nodes if n.kept or n.id == 0), key=lambda n: max(n.row, 0))
    for node in verified:
        row = first + max(node.row, 0)
        parent = first + max(shown.nodes[node.parent].row, 0) if node.parent >= 0 else first - 1
        kind: RowKind = "node" if node.id else "root"
        rows.append(PassRow(row, kind, node.id, visible(node.text), parent, row in kept, node.accepted))
    padding = range(len(rows), shown.kv.appended)
    return (*rows, *(PassRow(i, "padding", -1, "padding", -1, i in kept, False) for i in padding))


def seen_by(rows: tuple[PassRow, ...]) -> tuple[frozenset[int], ...]:
    """For every row, the rows it attends to: itself and its ancestors. The context is seen by all but padding."""
    by_row = {r.row: r for r in rows}
    out = []
    for row in rows:
        sees, at = {row.row}, row.parent
        while at >= 0:
            sees.add(at)
            at = by_row[at].parent
        out.append(frozenset(sees))
    return tuple(out)


@dataclass(frozen=True, slots=True)
class KvCounts:
    """Rows of the target's cache around a round."""

    before: int
    appended: int
    kept: int

    @classmethod
    def of(cls, shown: Round) -> KvCounts:
        """Count."""
        return cls(shown.kv.before, shown.kv.appended, len(shown.kv.kept))

    @property
    def dropped(self) -> int:
        """Appended rows that go again."""
        return self.appended - self.kept

    @property
    def after(self) -> int:
        """Rows committed when the next round starts."""
        return self.before + self.kept
