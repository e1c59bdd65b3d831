"""The card that says everything about the node under the mouse or the keyboard. Plain text only."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtWidgets import QFrame, QGridLayout, QLabel, QVBoxLayout, QWidget

from app.theme import GAP, GAP_SMALL, theme

OFFSET = 14  # from the node, in pixels
WIDTH = 300


class HoverCard(QFrame):
    """A small frame over the tree; the mouse passes through it."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setObjectName("hoverCard")
        self.title, self.fate = QLabel(), QLabel()
        for label in (self.title, self.fate):
            label.setTextFormat(Qt.TextFormat.PlainText)
            label.setWordWrap(True)
        self._rows: list[tuple[QLabel, QLabel]] = []
        self._grid = QGridLayout()
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(GAP + GAP_SMALL)
        self._grid.setVerticalSpacing(1)
        self._grid.setColumnStretch(1, 1)
        box = self._box = QVBoxLayout(self)
        box.setContentsMargins(10, 8, 10, 8)
        box.setSpacing(GAP_SMALL)
        box.addWidget(self.title)
        box.addWidget(self.fate)
        box.addLayout(self._grid)
        theme().changed.connect(self.restyle)
        self.restyle()
        self.hide()

    def show_facts(
        self, title: str, fate: str, pairs: list[tuple[str, str]], near: QRect, others: Sequence[QRect] = ()
    ) -> None:
        """Show inside the parent and off `near` (parent's pixels), where it hides the least of the others."""
        self.title.setText(title)
        self.fate.setText(fate)
        while len(self._rows) < len(pairs):
            self._rows.append(self._add_row(len(self._rows)))
        for i, (name, value) in enumerate(self._rows):
            used = i < len(pairs)
            name.setText(pairs[i][0] if used else "")
            value.setText(pairs[i][1] if used else "")
            name.setVisible(used)
            value.setVisible(used)
        self._fit(len(pairs))
        self.move(self._place(near, others))
        self.show()
        self.raise_()

    def text(self) -> str:
        """What it says, for tests and the accessible description."""
        pairs = [f"{name.text()}: {value.text()}" for name, value in self._rows if name.text()]
        return "\n".join([self.title.text(), self.fate.text(), *pairs])

    def restyle(self) -> None:
        """Colours and fonts."""
        t = theme()
        self.setStyleSheet(
            f"#hoverCard {{ background: {t.color('raised').name()}; border: 1px solid {t.color('muted').name()};"
            f" border-radius: 6px; }} QLabel {{ color: {t.color('text').name()}; background: transparent; }}"
        )
        self.title.setFont(t.font(1.05, bold=True))
        self.fate.setFont(t.font(0.95))
        for name, value in self._rows:
            self._style_row(name, value)

    def _add_row(self, row: int) -> tuple[QLabel, QLabel]:
        name, value = QLabel(self), QLabel(self)
        for column, label in enumerate((name, value)):
            label.setTextFormat(Qt.TextFormat.PlainText)
            self._grid.addWidget(label, row, column)
        self._style_row(name, value)
        return name, value

    def _fit(self, used: int) -> None:
        """As tall and as wide as it must be; in two columns where the tree has not that much height."""
        room = self.parentWidget().rect().adjusted(4, 4, -4, -4)
        for columns in (1, 2):
            per = -(-used // columns)
            for i, labels in enumerate(self._rows[:used]):
                for side, label in enumerate(labels):
                    self._grid.addWidget(label, i % per, 2 * (i // per) + side)
            self._grid.setColumnStretch(3, columns - 1)
            self._grid.invalidate()
            self._box.invalidate()
            needed = self._box.totalMinimumSize().width()
            width = max(WIDTH, min(max(columns * WIDTH, needed), room.width()))
            height = self._box.heightForWidth(width)
            if height <= room.height():
                break
        self.setFixedSize(width, height)

    def _style_row(self, name: QLabel, value: QLabel) -> None:
        name.setFont(theme().font(0.9))
        name.setStyleSheet(f"color: {theme().color('muted').name()};")
        value.setFont(theme().font(0.9))

    def _place(self, near: QRect, others: Sequence[QRect]) -> QPoint:
        """Right, left, below or above the node, or a corner: whichever hides least; the first of equals."""
        room = self.parentWidget().rect().adjusted(4, 4, -4, -4)
        width, height, middle = self.width(), self.height(), near.center()
        left, top = room.right() - width, room.bottom() - height
        spots = [
            (near.right() + OFFSET, middle.y() - height // 2),
            (near.left() - OFFSET - width, middle.y() - height // 2),
            (middle.x() - width // 2, near.bottom() + OFFSET),
            (middle.x() - width // 2, near.top() - OFFSET - height),
            *((x, y) for x in (left, room.left()) for y in (top, room.top())),
        ]
        inside = [QPoint(max(room.left(), min(x, left)), max(room.top(), min(y, top))) for x, y in spots]
        return min(inside, key=lambda at: _hidden(QRect(at, self.size()), near, others))


def _hidden(card: QRect, near: QRect, others: Sequence[QRect]) -> float:
    """Pixels that a card would hide; the node itself counts most."""
    covered = [card.intersected(other) for other in others]
    own = card.intersected(near)
    return 100.0 * own.width() * own.height() + sum(r.width() * r.height() for r in covered if not r.isEmpty())
