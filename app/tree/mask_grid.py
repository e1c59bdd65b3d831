"""The attention mask of a round's verify pass as a grid: who sees whom. Draws itself, computed from the record."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.theme import theme
from app.tree.look import SMALL, Face, mix
from app.tree.paint import line, paint_focus, paint_lines
from app.tree.pointed import Pointed
from app.tree.verify_pass import PassRow, pass_rows, seen_by
from app.tree.words import plural
from engine.trace import Round

CELL_LEAST, CELL_MOST = 9.0, 24.0
CONTEXT = 3  # the context column is this many cells wide
NAMES_WIDTH = 12  # letters of a token that fit before its row
LEFT, RIGHT, CENTRE = Qt.AlignmentFlag.AlignLeft, Qt.AlignmentFlag.AlignRight, Qt.AlignmentFlag.AlignHCenter


class MaskGrid(Pointed):
    """Rows: replayed, root and verified nodes in the order of the pass. Columns: the context, then the same rows.

    Signals:
        node_hovered: node id of the row under the mouse or the keyboard, -1 for none.
        said: the readout changed.

    Attributes:
        cell: (row, column) pointed at, column -1 for the context; None for none.
    """

    node_hovered = Signal(int)
    said = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.seen: tuple[frozenset[int], ...] = ()
        self.cell: tuple[int, int] | None = None
        self.marked = -1  # node hovered elsewhere
        self._context = 0
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName("Attention mask of the verify pass")
        theme().changed.connect(self.restyle)
        self.restyle()

    def show_round(self, shown: Round | None) -> None:
        """Show the pass of a round, or nothing."""
        self.rows = pass_rows(shown) if shown else ()
        self.seen = seen_by(self.rows)
        self._context = shown.kv.before if shown else 0
        self.cell = None
        self._changed()

    def mark(self, node: int) -> None:
        """Highlight the row of a node that is hovered elsewhere; -1 for none."""
        if node != self.marked:
            self.marked = node
            self.update()

    def readout(self) -> str:
        """Who sees whom, of the cell pointed at."""
        if not self.rows:
            return "No pass to show yet."
        if self.cell is None:
            return f"{plural(len(self.rows), 'row')} in one pass: each sees the context, its ancestors and itself."
        r, c = self.cell
        row = self.rows[r]
        if row.kind == "padding":
            return f"row {r} is padding: nothing reads it."
        if c < 0:
            return f"{_name(row)} sees all {self._context} context rows."
        if c == r:
            return f"{_name(row)} sees itself, {self._ancestors(r)}."
        verb = "sees" if c in self.seen[r] else "does not see"
        why = "its ancestor" if c in self.seen[r] else "a later row" if c > r else "on another branch"
        return f"{_name(row)} {verb} {_name(self.rows[c])}: {why}."

    def restyle(self) -> None:
        """Fonts or colours changed."""
        self._small = Face(SMALL)
        self._changed()

    def sizeHint(self) -> QSize:
        """Comfortable cells."""
        return self._size(18.0)

    def _size(self, cell: float) -> QSize:
        count = len(self.rows)
        return QSize(
            int(self._names() + (count + CONTEXT) * cell + 12), int(self._head() + max(1, count) * cell + 8)
        )  # fmt: skip

    def _names(self) -> float:
        return self._small.width("n") * (NAMES_WIDTH + 3) + 8

    def _head(self) -> float:
        return self._small.height + 8

    def cell_size(self) -> float:
        """Side of a cell in pixels."""
        count = max(1, len(self.rows))
        across = (self.width() - self._names() - 10) / (count + CONTEXT)
        down = (self.height() - self._head() - 6) / count
        return max(CELL_LEAST, min(CELL_MOST, across, down))

    def cell_rect(self, row: int, column: int) -> QRectF:
        """Place of a cell; column -1 is the context."""
        size = self.cell_size()
        x = self._names() + (0 if column < 0 else (CONTEXT + column) * size)
        return QRectF(x, self._head() + row * size, size * (CONTEXT if column < 0 else 1), size)

    def cell_at(self, at: QPointF) -> tuple[int, int] | None:
        """The cell at a point; left of the grid it is the row's own."""
        size = self.cell_size()
        row = int((at.y() - self._head()) // size)
        if not 0 <= row < len(self.rows):
            return None
        if at.x() < self._names():
            return row, row
        column = int((at.x() - self._names()) // size) - CONTEXT
        return (row, max(-1, column)) if column < len(self.rows) else None

    def _ancestors(self, r: int) -> str:
        names = [self.rows[i].text for i in sorted(self.seen[r] - {r})]
        return f"the context and {', '.join(names)}" if names else "and the context"

    def _changed(self) -> None:
        self.setMinimumSize(self._size(CELL_LEAST))
        self._say()
        self.update()

    def _say(self) -> None:
        self.setAccessibleDescription(self.readout())
        self.said.emit(self.readout())

    def _point(self, cell: tuple[int, int] | None) -> None:
        if cell == self.cell:
            return
        self.cell = cell
        self._say()
        self.node_hovered.emit(self.rows[cell[0]].node if cell else -1)
        self.update()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Point at a cell."""
        self._point(self.cell_at(event.position()))

    def _start(self) -> tuple[int, int]:
        return self.cell or (0, 0)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Arrows move from cell to cell."""
        moves = {
            Qt.Key.Key_Left: (0, -1),
            Qt.Key.Key_Right: (0, 1),
            Qt.Key.Key_Up: (-1, 0),
            Qt.Key.Key_Down: (1, 0),
        }
        if event.key() not in moves or not self.rows:
            event.ignore()
            return
        r, c = self.cell or (0, 0)
        down, across = moves[Qt.Key(event.key())] if self.cell else (0, 0)
        last = len(self.rows) - 1
        self._point((max(0, min(last, r + down)), max(-1, min(last, c + across))))

    def paintEvent(self, event: QPaintEvent) -> None:
        """Headers, cells, marks."""
        with QPainter(self) as painter:
            painter.fillRect(self.rect(), theme().color("surface"))
            if self.rows:
                self._paint_headers(painter)
                self._paint_cells(painter)
            if self.hasFocus() and self.cell is None:
                paint_focus(painter, self.rect())

    def _paint_headers(self, painter: QPainter) -> None:
        size, muted, text = self.cell_size(), theme().color("muted"), theme().color("text")
        y = self._head() - self._small.height - 2
        context = self.cell_rect(0, -1)
        lines = [line(self._small, "ctx", QRectF(context.x(), y, context.width(), self._small.height), muted, CENTRE)]
        every = max(1, round((self._small.width("00") + 4) / size + 0.49))
        for row in self.rows:
            place = self.cell_rect(row.row, row.row)
            if row.row % every == 0:
                at = QRectF(place.x() - 10, y, place.width() + 20, self._small.height)
                lines.append(line(self._small, str(row.row), at, muted, CENTRE))
            if size >= self._small.height * 0.72 or row.row % 2 == 0:
                wide = self._small.width("000")
                name = self._small.fit(row.text, self._names() - wide - 16)
                at = QRectF(4, place.y(), self._names() - wide - 14, size)
                lines.append(line(self._small, name, at, text if row.accepted else muted, RIGHT))
                at = QRectF(self._names() - wide - 6, place.y(), wide, size)
                lines.append(line(self._small, str(row.row), at, muted, RIGHT))
        paint_lines(painter, lines)

    def _paint_cells(self, painter: QPainter) -> None:
        surface, grid = theme().color("surface"), theme().color("line")
        accepted, seen = theme().fate("accepted"), theme().fate("drafted")
        context = mix(theme().color("muted"), surface, 0.45)
        painter.setPen(QPen(grid, 1))
        for row, sees in zip(self.rows, self.seen, strict=True):
            strength = 1.0 if row.accepted else 0.6
            painter.fillRect(self.cell_rect(row.row, -1).adjusted(1, 1, -1, -1), mix(context, surface, strength))
            for column in range(len(self.rows)):
                place = self.cell_rect(row.row, column).adjusted(0.5, 0.5, -0.5, -0.5)
                if column in sees:
                    on_path = row.accepted and self.rows[column].accepted
                    painter.fillRect(place, accepted if on_path else mix(seen, surface, 0.75))
                elif column <= row.row:
                    painter.fillRect(place, mix(grid, surface, 0.35))
        self._paint_marks(painter)

    def _paint_marks(self, painter: QPainter) -> None:
        """Frames around the row pointed at, here or elsewhere, and around the cell."""
        painter.setBrush(Qt.BrushStyle.NoBrush)
        elsewhere = [r.row for r in self.rows if r.node == self.marked >= 0]
        for r in {*elsewhere, *([self.cell[0]] if self.cell else [])}:
            painter.setPen(QPen(theme().color("text"), 1.4))
            whole = self.cell_rect(r, -1).united(self.cell_rect(r, len(self.rows) - 1))
            painter.drawRect(whole)
        if self.cell:
            painter.setPen(QPen(QColor(theme().color("accent")), 2.4))
            painter.drawRect(self.cell_rect(*self.cell))


def _name(row: PassRow) -> str:
    return f"{row.text} (row {row.row})"
