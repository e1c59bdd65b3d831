"""The rounds of a turn as bars: how many tokens each gave, and what its time went into. Draws itself.

Knows the records of a turn; knows no selection: the panel links the two.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QResizeEvent, QWheelEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.theme import theme
from app.tree.copied import copied_tokens
from app.tree.look import SMALL, Face
from app.tree.timeline_paint import Frame, paint_timeline
from app.tree.words import plural
from engine.trace import Round

WIDE = 560  # pixels from which the readout has room for everything
PITCH_LEAST, PITCH_MOST, PITCH_USUAL = 3.0, 48.0, 14.0


class Timeline(QWidget):
    """A bar per round. Click or drag goes there; `,` `.` neighbours; Home, End; F brings the shown round into view.

    Signals:
        round_requested: go to this round.
        round_hovered: this round is under the mouse, -1 for none.
        follow_requested: back to the newest round (Esc).
    """

    round_requested = Signal(int)
    round_hovered = Signal(int)
    follow_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.rounds: Sequence[Round] = ()
        self.current = self.hovered = self.pinned = -1
        self.live = True
        self.pitch = PITCH_USUAL  # pixels from bar to bar
        self.offset = 0.0  # pixels scrolled
        self._scrubbing = False
        self._most = (1, 1.0)  # highest bar: tokens, milliseconds
        self._copied: list[tuple[bool, ...]] = []  # per round, which tokens are copied text
        self._counted = 0
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Expanding)
        self.setMinimumHeight(80)
        self.setAccessibleName("Timeline of rounds")
        theme().changed.connect(self.restyle)
        self.restyle()
        self._describe()

    def restyle(self) -> None:
        """Fonts or colours changed."""
        self.gutter = max(Face(SMALL).width(text) for text in ("tokens", "000 ms")) + 10
        self.head = Face(0.92).height + 5
        self.update()

    def set_rounds(self, rounds: Sequence[Round]) -> None:
        """Show the rounds of another turn; the sequence may grow, see `grown`."""
        self.rounds, self.offset, self.hovered = rounds, 0.0, -1
        self._most, self._counted, self._copied = (1, 1.0), 0, []
        self.grown()

    def grown(self) -> None:
        """Rounds were appended."""
        new = self.rounds[self._counted :]
        tokens = max((len(r.emitted) for r in new), default=0)
        took = max((r.timings.total for r in new), default=0.0)
        self._most = max(self._most[0], tokens), max(self._most[1], took)
        self._copied += map(copied_tokens, new)
        self._counted = len(self.rounds)
        self._show_current()

    def set_marks(self, current: int, hovered: int, pinned: int, live: bool) -> None:
        """Which round is shown, hovered and pinned (-1: none), and whether the newest is followed."""
        moved = current != self.current
        self.current, self.hovered, self.pinned, self.live = current, hovered, pinned, live
        if moved and not self._scrubbing:
            self._show_current()
        self._describe()
        self.update()

    def readout(self) -> str:
        """The values of the hovered round, else of the shown one, in one line."""
        index = self.hovered if self.hovered >= 0 else self.current
        if not 0 <= index < self._counted:
            return "No rounds yet" if not self.rounds else plural(len(self.rounds), "round")
        r = self.rounds[index]
        t = r.timings
        copied = sum(self._copied[index])
        drafted = r.accepted_emitted - copied
        parts = [f"{drafted} drafted"] if drafted or not copied else []
        parts += [f"{copied} copied"] if copied else []
        kinds = f" ({', '.join(parts)})" if r.drafted and self.width() > WIDE else ""
        parts = f"draft {t.draft:.1f}, verify {t.verify:.1f}, commit {t.commit:.1f}, host {t.host:.1f}"
        return f"round {index + 1}: {plural(len(r.emitted), 'token')}{kinds}, {t.total:.1f} ms: {parts}"

    def bar(self, index: int) -> QRectF:
        """Place of a round's bar, both lanes, in pixels."""
        return QRectF(self.gutter + index * self.pitch - self.offset, self.head, self.pitch, self.height() - self.head)

    def round_at(self, x: float) -> int:
        """The round whose bar is at x, -1 for none."""
        index = int((x - self.gutter + self.offset) // self.pitch)
        return index if x >= self.gutter and 0 <= index < self._counted else -1

    def focus_current(self) -> None:
        """Bring the shown round to the middle, at the usual zoom."""
        self.pitch = PITCH_USUAL
        if self.current >= 0:
            self.offset = (self.current + 0.5) * self.pitch - self._room() / 2
        self._clamp()

    def sizeHint(self) -> QSize:
        """Both lanes comfortably."""
        return QSize(480, 110)

    def _room(self) -> float:
        return max(1.0, self.width() - self.gutter - 4)

    def _clamp(self) -> None:
        most = max(0.0, len(self.rounds) * self.pitch - self._room())
        self.offset = max(0.0, min(self.offset, most))
        self.update()

    def _show_current(self) -> None:
        """Scroll as little as needed to have the shown round in sight."""
        left, room = self.current * self.pitch, self._room()
        if self.current >= 0 and not self.offset <= left <= self.offset + room - self.pitch:
            far = not self.offset - room <= left <= self.offset + room * 1.5
            self.offset = (
                left - room / 2 if far else max(min(self.offset, left - self.pitch), left + 2 * self.pitch - room)
            )
        self._clamp()

    def _describe(self) -> None:
        follows = "following the newest round" if self.live else f"{plural(len(self.rounds), 'round')} in all"
        self.setAccessibleDescription(f"{self.readout()}; {follows}")

    def paintEvent(self, event: QPaintEvent) -> None:
        """Only the bars in sight."""
        first = max(0, int(self.offset // self.pitch))
        last = min(self._counted, int((self.offset + self._room()) // self.pitch) + 1)
        marks = self.current, self.hovered, self.pinned, self.live
        frame = Frame(
            self.rounds,
            (first, last),
            self.pitch,
            self.offset,
            QRectF(self.rect()),
            (self.gutter, self.head),
            self._most,
            self._copied,
            *marks,
            self.readout(),
            self.hasFocus(),
        )
        with QPainter(self) as painter:
            paint_timeline(painter, frame)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep the shown round in sight."""
        super().resizeEvent(event)
        self._show_current()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Go there, and start to scrub."""
        if event.button() == Qt.MouseButton.LeftButton:
            self._scrubbing = True
            self._scrub(event.position().x())

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Scrub while the button is held, hover otherwise."""
        if self._scrubbing:
            self._scrub(event.position().x())
            return
        index = self.round_at(event.position().x())
        if index != self.hovered:
            self.hovered = index
            self.round_hovered.emit(index)
            self.update()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """End of scrubbing."""
        self._scrubbing = False
        self._show_current()

    def leaveEvent(self, event: QEvent) -> None:
        """Nothing is hovered."""
        if self.hovered >= 0:
            self.hovered = -1
            self.round_hovered.emit(-1)
            self.update()

    def _scrub(self, x: float) -> None:
        if not self.rounds:
            return
        index = max(0, min(len(self.rounds) - 1, int((x - self.gutter + self.offset) // self.pitch)))
        if index != self.current or self.live:
            self.round_requested.emit(index)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Ctrl+wheel widens the bars around the mouse, plain wheel scrolls."""
        delta = event.angleDelta().y() or event.angleDelta().x()
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            at = (event.position().x() - self.gutter + self.offset) / self.pitch
            self.pitch = max(PITCH_LEAST, min(PITCH_MOST, self.pitch * 1.2 ** (delta / 120)))
            self.offset = at * self.pitch - event.position().x() + self.gutter
        else:
            self.offset -= delta / 2
        self._clamp()
        event.accept()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Walk; what is not for the timeline goes to the panel."""
        steps = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1, Qt.Key.Key_PageUp: -10, Qt.Key.Key_PageDown: 10}
        last = len(self.rounds) - 1
        match event.key():
            case key if key in steps and self.rounds:
                self.round_requested.emit(max(0, min(last, self.current + steps[Qt.Key(key)])))
            case Qt.Key.Key_Home if self.rounds:
                self.round_requested.emit(0)
            case Qt.Key.Key_End if self.rounds:
                self.round_requested.emit(last)
            case Qt.Key.Key_F:
                self.focus_current()
            case Qt.Key.Key_Escape:
                self.follow_requested.emit()
            case _:
                event.ignore()
