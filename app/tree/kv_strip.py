"""The target's KV cache around a round: rows before, rows appended, which stay, and where they move. Draws itself."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.theme import theme
from app.tree.look import SMALL, Face, Look, look, mix
from app.tree.paint import line, paint_focus, paint_frame, paint_lines, paint_mark
from app.tree.pointed import Pointed
from app.tree.verify_pass import KvCounts, PassRow, pass_rows
from engine.trace import PhaseName, Round

CELL_MOST, CELL_HEIGHT = 22.0, 20.0
BEFORE_WIDTH = 96.0
BEFORE_VERIFY: tuple[PhaseName, ...] = ("root", "level", "prune")
LEFT, CENTRE = Qt.AlignmentFlag.AlignLeft, Qt.AlignmentFlag.AlignHCenter


class KvStrip(Pointed):
    """Above: the rows of the pass behind those before it. Below: the same cache after the round, compacted.

    Signals:
        node_hovered: node id of the row under the mouse or the keyboard, -1 for none.
    """

    node_hovered = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.counts = KvCounts(0, 0, 0)
        self.step: PhaseName = "commit"
        self.marked = -1
        self.row: int | None = None  # pointed at
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("KV cache rows of the target")
        theme().changed.connect(self.restyle)
        self.restyle()

    def show_round(self, shown: Round | None, step: PhaseName = "commit") -> None:
        """Show a round's cache at a step: what is not yet done is not yet drawn."""
        self.rows = pass_rows(shown) if shown else ()
        self.counts = KvCounts.of(shown) if shown else KvCounts(0, 0, 0)
        self.step, self.row = step, None
        self._changed()

    def mark(self, node: int) -> None:
        """Highlight the row of a node that is hovered elsewhere; -1 for none."""
        if node != self.marked:
            self.marked = node
            self.update()

    @property
    def appended(self) -> bool:
        """Whether the pass has run at the present step."""
        return self.step not in BEFORE_VERIFY

    @property
    def committed(self) -> bool:
        """Whether rows have been dropped at the present step."""
        return self.step == "commit"

    def readout(self) -> str:
        """Counts, or the row pointed at."""
        if not self.rows:
            return "No cache to show yet."
        if self.row is not None:
            return self._about(self.rows[self.row])
        c = self.counts
        if not self.appended:
            return f"KV cache: {c.before} rows; the pass has not run yet"
        if not self.committed:
            return f"KV cache: {c.before} rows + {c.appended} appended by the pass"
        return f"KV cache: {c.before} rows + {c.appended} appended, {c.kept} kept, {c.dropped} dropped → {c.after} rows"

    def cell(self, row: int) -> QRectF:
        """Place of an appended row in the upper strip."""
        width = self._cell_width()
        return QRectF(8 + BEFORE_WIDTH + 4 + row * width, self._top(), width, CELL_HEIGHT)

    def kept_cell(self, place: int) -> QRectF:
        """Place of a kept row in the lower strip."""
        width = self._cell_width()
        return QRectF(8 + BEFORE_WIDTH + 4 + place * width, self._top() + 2 * CELL_HEIGHT, width, CELL_HEIGHT)

    def restyle(self) -> None:
        """Fonts or colours changed."""
        self._face, self._small = Face(0.92), Face(SMALL)
        self.setFixedHeight(int(self._top() + 3 * CELL_HEIGHT + 8))
        self._changed()

    def sizeHint(self) -> QSize:
        """One line of text and two strips."""
        return QSize(420, self.height())

    def _top(self) -> float:
        return self._face.height + 8

    def _cell_width(self) -> float:
        count = max(1, len(self.rows))
        return min(CELL_MOST, (self.width() - BEFORE_WIDTH - 20) / count)

    def _about(self, row: PassRow) -> str:
        what = {"replayed": "run again", "root": "the root", "node": f"node {row.node}", "padding": "padding"}[row.kind]
        place = f"row {self.counts.before + row.row}"
        if not self.committed:
            fate = "appended by the pass"
        elif row.kept:
            moved = self.counts.before + sum(r.kept for r in self.rows[: row.row])
            fate = "kept in place" if moved == self.counts.before + row.row else f"kept, moves to row {moved}"
        else:
            fate = "dropped"
        return f"{place}: {row.text}, {what}: {fate}"

    def _changed(self) -> None:
        self.setAccessibleDescription(self.readout())
        self.update()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Point at an appended row."""
        self._point(next((r.row for r in self.rows if self.cell(r.row).contains(event.position())), None))

    def _start(self) -> int:
        return self.row or 0

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Arrows move from row to row, Home and End to the first and the last."""
        last, now = len(self.rows) - 1, self.row
        moves = {
            Qt.Key.Key_Left: 0 if now is None else max(0, now - 1),
            Qt.Key.Key_Right: 0 if now is None else min(last, now + 1),
            Qt.Key.Key_Home: 0,
            Qt.Key.Key_End: last,
        }
        if event.key() in moves and self.rows:
            self._point(moves[Qt.Key(event.key())])
        else:
            event.ignore()

    def _point(self, row: int | None) -> None:
        row = row if self.appended else None
        if row != self.row:
            self.row = row
            self.node_hovered.emit(self.rows[row].node if row is not None else -1)
            self._changed()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Counts, both strips, and the moves between them."""
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.fillRect(self.rect(), theme().color("surface"))
            room = QRectF(8, 3, self.width() - 16, self._face.height)
            text = self._face.fit(self.readout(), room.width(), end=True)
            paint_lines(painter, [line(self._face, text, room, theme().color("text"), LEFT)])
            if self.rows:
                self._paint_before(painter, self._top(), f"{self.counts.before} before")
                if self.appended:
                    self._paint_appended(painter)
                if self.committed:
                    self._paint_before(painter, self._top() + 2 * CELL_HEIGHT, f"{self.counts.before} before")
                    self._paint_kept(painter)
            if self.hasFocus() and self.row is None:
                paint_focus(painter, self.rect())

    def _paint_before(self, painter: QPainter, y: float, text: str) -> None:
        place = QRectF(8, y, BEFORE_WIDTH, CELL_HEIGHT)
        painter.setPen(QPen(theme().color("muted"), 1))
        painter.setBrush(theme().color("raised"))
        painter.drawRoundedRect(place, 3, 3)
        paint_lines(painter, [line(self._small, text, place, theme().color("text"), CENTRE)])

    def _paint_appended(self, painter: QPainter) -> None:
        for row in self.rows:
            place = self.cell(row.row)
            style = self._look(row)
            inset = 1.5 if place.width() > 7 else 0.5
            paint_frame(painter, place.adjusted(inset, 1, -inset, -1), style)
            if self.committed and place.width() >= 14 and row.kind != "padding":
                paint_mark(painter, place.center(), 5.5, style)
            if row.row == self.row or row.node == self.marked >= 0:
                focused = row.row == self.row and self.hasFocus()
                painter.setPen(QPen(theme().color("accent" if focused else "text"), 3 if focused else 2))
                painter.setBrush(Qt.BrushStyle.NoBrush)
                painter.drawRect(place.adjusted(-1, -2, 1, 2))

    def _look(self, row: PassRow) -> Look:
        if row.kind == "padding":
            return look("pruned")
        if not self.committed:
            return look("verified")
        return look("accepted" if row.kept else "rejected")

    def _paint_kept(self, painter: QPainter) -> None:
        line_color = mix(theme().fate("accepted"), theme().color("surface"), 0.7)
        for place, row in enumerate(r for r in self.rows if r.kept):
            start, end = self.cell(row.row), self.kept_cell(place)
            painter.setPen(QPen(QColor(line_color), 1.5))
            painter.drawLine(
                QPointF(start.center().x(), start.bottom() + 1), QPointF(end.center().x(), end.top() - 1)
            )  # fmt: skip
            inset = 1.5 if end.width() > 7 else 0.5
            paint_frame(painter, end.adjusted(inset, 1, -inset, -1), look("accepted"))
        rest = self.kept_cell(self.counts.kept)
        text = f"{self.counts.after} after"
        at = QRectF(rest.x() + 8, rest.y(), 120, rest.height())
        paint_lines(painter, [line(self._small, text, at, theme().color("muted"), LEFT)])
