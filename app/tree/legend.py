"""What colours, borders, marks and numbers of the tree mean: always in sight, also when there is no tree."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.theme import theme
from app.tree.look import MEANINGS, NAMES, SMALL, Face, look
from app.tree.paint import line, paint_frame, paint_lines, paint_mark
from app.tree.phases import Kind

ENTRIES: tuple[Kind, ...] = ("root", "accepted", "rejected", "bonus", "drafted", "verified", "pruned", "replayed")
NUMBERS = ("% on lines: draft p", "% on cards: path p")
SWATCH_WIDTH, GAP_TEXT, GAP_ENTRY, PAD = 25.0, 3.0, 12.0, 8.0


def draw_legend(painter: QPainter | None, width: float, kinds: Sequence[Kind]) -> float:
    """Paint the entries and what the numbers mean within a width, wrapping (only measure, without a painter).

    Returns the height used.
    """
    face, x, y = Face(SMALL * 1.05), 2.0, 3.0
    pitch = face.height + 5
    parts: list[tuple[Kind | None, str, float]] = [
        (kind, NAMES[kind], SWATCH_WIDTH + GAP_TEXT + face.width(NAMES[kind])) for kind in kinds
    ]
    parts += [(None, text, face.width(text)) for text in NUMBERS]
    for kind, text, wide in parts:
        if x > 2 and x + wide > width:
            x, y = 2.0, y + pitch
        if painter:
            _entry(painter, face, kind, text, QRectF(x, y, wide, pitch))
        x += wide + GAP_ENTRY
    return y + pitch + 2


def _entry(painter: QPainter, face: Face, kind: Kind | None, text: str, place: QRectF) -> None:
    ink = theme().color("text" if kind else "muted")
    if kind:
        style = look(kind)
        frame = QRectF(place.x(), place.center().y() - 7, SWATCH_WIDTH - 4, 14)
        paint_frame(painter, frame, style)
        paint_mark(painter, QPointF(frame.right(), frame.top() + 2), 5.5, style)
        place = place.adjusted(SWATCH_WIDTH + GAP_TEXT, 0, 0, 0)
    paint_lines(painter, [line(face, text, place, ink, Qt.AlignmentFlag.AlignLeft)])


class Legend(QWidget):
    """A strip that wraps to as many lines as its width needs."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.replayed = False
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("Legend of the tree")
        theme().changed.connect(self.restyle)
        self.restyle()

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The entries; run-again rows only when the round has some."""
        return tuple(k for k in ENTRIES if k != "replayed" or self.replayed)

    def set_replayed(self, on: bool) -> None:
        """Whether the shown round has rows that were run again."""
        if on != self.replayed:
            self.replayed = on
            self.restyle()

    def restyle(self) -> None:
        """Colours, fonts or entries changed."""
        words = "; ".join([*(MEANINGS[k] for k in self.kinds), *NUMBERS])
        self.setAccessibleDescription(words)
        self.setToolTip(words.replace("; ", "\n"))
        self._wrap()
        self.update()

    def sizeHint(self) -> QSize:
        """One line, if there is room."""
        return QSize(600, self.height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Wrap again."""
        super().resizeEvent(event)
        self._wrap()

    def paintEvent(self, event: QPaintEvent) -> None:
        """All entries, then what the numbers mean."""
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.translate(PAD, 0)
            draw_legend(painter, self.width() - 2 * PAD, self.kinds)

    def _wrap(self) -> None:
        height = int(draw_legend(None, self.width() - 2 * PAD, self.kinds))
        if height != self.height():
            self.setFixedHeight(height)
