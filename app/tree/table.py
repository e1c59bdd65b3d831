"""The tree as a table for keyboards and screen readers: every field of every node, copyable."""

from __future__ import annotations

import math
from typing import Any

from PySide6.QtCore import QAbstractItemModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from app.tree.copied import node_origin
from app.tree.drawing import OWN, Key
from app.tree.facts import wanted
from app.tree.words import node_fate, number, own_token, own_token_fate, percent, visible
from engine.trace import Node, Round, Token

Index = QModelIndex | QPersistentModelIndex
COLUMNS = (
    "token", "fate", "draft p", "path p", "rank", "depth", "node", "parent", "token id", "expanded", "verified row",
    "accepted", "target wanted next", "log p", "path log p", "drafted by",
)  # fmt: skip


class TreeModel(QAbstractItemModel):
    """A round's nodes in their tree order, siblings by rank; replayed rows before the root, the own token in its place.

    Holds strings only: what a cell says is what is copied.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.keys: list[Key] = []  # by internal id
        self._cells: list[tuple[str, ...]] = []
        self._parents: list[int] = []
        self._below: dict[int, list[int]] = {}  # -1: top
        self._places: list[int] = []

    def show_round(self, shown: Round | None) -> None:
        """Show another round, or nothing."""
        self.beginResetModel()
        self.keys, self._cells, self._parents, self._below, self._places = [], [], [], {}, []
        if shown:
            for i, token in enumerate(shown.replayed):
                cells = (visible(token.text), "run again", "", "", "", "", "", "", str(token.id), "", str(i), "", "")
                self._add(f"again {i}", -1, (*cells, "", "", ""))
            own = own_token(shown)
            if own and own.node < 0:
                self._add(OWN, -1, _own_cells(shown, own, ""))
            self._add_node(shown, shown.nodes[0], -1)
        self.endResetModel()

    def _add(self, key: Key, parent: int, cells: tuple[str, ...]) -> int:
        place = self._below.setdefault(parent, [])
        self.keys.append(key)
        self._cells.append(cells)
        self._parents.append(parent)
        self._places.append(len(place))
        place.append(len(self.keys) - 1)
        return len(self.keys) - 1

    def _add_node(self, shown: Round, node: Node, parent: int) -> None:
        entry = self._add(node.id, parent, node_cells(shown, node))
        for child in shown.children(node.id):
            self._add_node(shown, child, entry)
        own = own_token(shown)
        if own and own.node == node.id:
            self._add(OWN, entry, _own_cells(shown, own, str(node.depth + 1)))

    def row_text(self, index: QModelIndex) -> str:
        """One row, tab-separated."""
        return "\t".join(self._cells[index.internalId()]) if index.isValid() else ""

    def table_text(self) -> str:
        """Headers and all rows, tab-separated, in tree order."""
        return "\n".join(["\t".join(COLUMNS), *("\t".join(cells) for cells in self._cells)]) + "\n"

    def index_of(self, key: Key | None) -> QModelIndex:
        """The first cell of a key."""
        if key not in self.keys:
            return QModelIndex()
        entry = self.keys.index(key)
        return self.createIndex(self._places[entry], 0, entry)

    def key_of(self, index: QModelIndex) -> Key | None:
        """The key of a row."""
        return self.keys[index.internalId()] if index.isValid() else None

    def index(self, row: int, column: int, parent: Index = QModelIndex()) -> QModelIndex:  # noqa: B008
        """Qt's."""
        below = self._below.get(parent.internalId() if parent.isValid() else -1, [])
        if not (0 <= row < len(below) and 0 <= column < len(COLUMNS)):
            return QModelIndex()
        return self.createIndex(row, column, below[row])

    def parent(self, index: Index = QModelIndex()) -> QModelIndex:  # type: ignore[override]  # noqa: B008
        """Qt's."""
        entry = self._parents[index.internalId()] if index.isValid() else -1
        return self.createIndex(self._places[entry], 0, entry) if entry >= 0 else QModelIndex()

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        """Qt's."""
        if parent.isValid() and parent.column() > 0:
            return 0
        return len(self._below.get(parent.internalId() if parent.isValid() else -1, ()))

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        """Qt's."""
        return len(COLUMNS)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Column names."""
        if role == Qt.ItemDataRole.DisplayRole and orientation == Qt.Orientation.Horizontal:
            return COLUMNS[section]
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Text; for screen readers the column's name as well, where a value alone says nothing."""
        if not index.isValid():
            return None
        text = self._cells[index.internalId()][index.column()]
        if role == Qt.ItemDataRole.DisplayRole:
            return text
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return text if index.column() < 2 else f"{COLUMNS[index.column()]} {text or 'none'}"
        return None


def _own_cells(shown: Round, own: Token, depth: str) -> tuple[str, ...]:
    """The target's own token in the order of `COLUMNS`."""
    cells = ("★ " + visible(own.text), own_token_fate(shown, own), "", "", "", depth, "", "", str(own.id), "", "", "")
    return (*cells, f"target p {percent(own.prob)}", "", "", "")


def node_cells(shown: Round, node: Node) -> tuple[str, ...]:
    """A node's fields in the order of `COLUMNS`."""
    inner = node.id > 0
    mark = "" if not inner else "✓ " if node.accepted else "✕ " if node.kept else "⋯ "
    return (
        mark + visible(node.text),
        node_fate(shown, node),
        percent(math.exp(node.logprob)) if inner else "",
        percent(math.exp(node.cum_logprob)) if inner else "",
        str(node.rank + 1) if inner else "",
        str(node.depth),
        str(node.id),
        str(node.parent) if inner else "",
        str(node.token),
        "yes" if node.active else "no",
        str(len(shown.replayed) + node.row) if node.row >= 0 else "no",
        "yes" if node.accepted else "no",
        wanted(node),
        number(node.logprob) if inner else "",
        number(node.cum_logprob) if inner else "",
        node_origin(shown, node) if inner else "",
    )
