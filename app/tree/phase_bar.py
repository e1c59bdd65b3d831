"""The steps of a round as a row of buttons, and what the present step means in one sentence."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QToolButton, QVBoxLayout, QWidget

from app.theme import GAP, GAP_SMALL, theme

SMALLER = 0.85  # words of the buttons where they do not fit otherwise
LONG = (  # as long as what is said of a step gets; decides how many lines there are
    "Draft level 5: the 4 likeliest tokens after each of 4 nodes chosen for it make 16 candidates;"
    " all 5 passes of the draft head: 12.3 ms."
)
WAITING = "Step through a round with Space and Shift+Space."


class PhaseBar(QWidget):
    """A button per step; below them back, on, and the sentence.

    Signals:
        step_requested: index of the step that was clicked.
        back_requested, on_requested: the arrows.

    Attributes:
        index: the present step; -1 for none.
    """

    step_requested = Signal(int)
    back_requested = Signal()
    on_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.index = -1
        self.labels: tuple[str, ...] = ()
        self.setAccessibleName("Steps of the round")
        self.back = self._arrow("◀", "Step back", "Shift+Space", self.back_requested.emit)
        self.on = self._arrow("▶", "Next step", "Space", self.on_requested.emit)
        self.buttons: list[QToolButton] = []
        self._widths: dict[str, int] = {}  # of buttons, by label, at the usual size
        self._scale = 1.0
        self._row = QHBoxLayout()
        self._row.setSpacing(GAP_SMALL // 2)
        self._row.addStretch(1)
        self._strut = QWidget()  # as high as a step: without any the tree above must not jump
        self._row.addWidget(self._strut)
        self.sentence = QLabel(WAITING)
        self.sentence.setTextFormat(Qt.TextFormat.PlainText)
        self.sentence.setWordWrap(True)
        self.sentence.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        lower = QHBoxLayout()
        lower.setSpacing(GAP_SMALL // 2)
        lower.addWidget(self.back)
        lower.addWidget(self.on)
        lower.addSpacing(GAP_SMALL)
        lower.addWidget(self.sentence, 1)
        box = QVBoxLayout(self)
        box.setContentsMargins(GAP, GAP_SMALL, GAP, GAP_SMALL)
        box.setSpacing(GAP_SMALL)
        box.addLayout(self._row)
        box.addLayout(lower)
        theme().changed.connect(self.restyle)
        self.restyle()
        self.set_steps((), -1, "")

    def set_steps(self, labels: Sequence[str], index: int, sentence: str, waiting: bool = False) -> None:
        """Show these steps, one of them as present. `waiting`: the engine waits there, and cannot go back."""
        labels = tuple(labels)
        if labels != self.labels:
            self._set_labels(labels)
        self.index = index
        self._fold()
        for i, button in enumerate(self.buttons[: len(labels)]):
            button.setChecked(i == index)
            button.setEnabled(not waiting or i == index)
        self.back.setEnabled(bool(labels) and not waiting)
        self.on.setEnabled(bool(labels))
        self.sentence.setText(sentence or WAITING)
        place = f"Step {index + 1} of {len(labels)}: {labels[index]}. " if 0 <= index < len(labels) else ""
        self.setAccessibleDescription(place + self.sentence.text())

    def restyle(self) -> None:
        """Colours and fonts."""
        t = theme()
        self.sentence.setFont(t.font(0.95))
        self.sentence.setAlignment(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft)
        self.setStyleSheet(
            f"QToolButton {{ border: 1px solid {t.color('line').name()}; border-radius: 4px; padding: 2px 5px;"
            f" background: {t.color('raised').name()}; color: {t.color('text').name()}; }}"
            f"QToolButton:hover {{ background: {t.color('hover').name()}; }}"
            f"QToolButton:checked {{ background: {t.color('accent').name()}; color: {t.color('on_accent').name()};"
            f" border-color: {t.color('accent').name()}; }}"
            f"QToolButton:disabled {{ color: {t.color('muted').name()}; }}"
            f"QToolButton:checked:disabled {{ color: {t.color('on_accent').name()}; }}"
        )
        self._strut.setFixedSize(0, self.back.sizeHint().height())
        self._widths.clear()
        self._scale = 0.0
        self._fold()
        self._make_room()

    def minimumSizeHint(self) -> QSize:
        """May be narrower than its buttons: the last ones are cut, the arrows never."""
        return QSize(160, super().minimumSizeHint().height())

    def _arrow(self, text: str, name: str, key: str, call: Callable[[], object]) -> QToolButton:
        button = QToolButton(text=text, autoRaise=True)
        button.setAccessibleName(name)
        button.setToolTip(f"{name} ({key})")
        button.clicked.connect(call)
        return button

    def _set_labels(self, labels: tuple[str, ...]) -> None:
        self.labels = labels
        while len(self.buttons) < len(labels):
            self._add_button(len(self.buttons))
        for i, button in enumerate(self.buttons):
            if i < len(labels):
                button.setText(labels[i])
                name = f"Level {labels[i]}" if labels[i].isdigit() else labels[i].capitalize()
                button.setAccessibleName(name)
                button.setToolTip(name)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """More or fewer levels fit."""
        super().resizeEvent(event)
        self._fold()
        self._make_room()

    def _make_room(self) -> None:
        """Lines for the sentence, by the width and not by what is said: the tree above must not jump."""
        metrics = self.sentence.fontMetrics()
        width = self.width() - 2 * GAP - 2 * self.back.sizeHint().width() - 2 * GAP_SMALL
        flags = Qt.TextFlag.TextWordWrap.value
        wanted = metrics.boundingRect(0, 0, max(width, 160), 10_000, flags, LONG).height()
        self.sentence.setFixedHeight(max(2 * metrics.lineSpacing(), wanted))

    def _fold(self) -> None:
        """Where not all buttons fit, keep of the levels the first, the last and those around the present step; where
        these do not fit either, make their words smaller."""
        levels = [i for i, label in enumerate(self.labels) if label.isdigit()]
        near = {*levels[:1], *levels[-1:], self.index - 1, self.index, self.index + 1}
        every = range(len(self.labels))
        few = [i for i in every if i not in levels or i in near]
        shown = every if self._wide(every) <= self.width() else few
        self._set_scale(1.0 if self._wide(shown) <= self.width() else SMALLER)
        for i, button in enumerate(self.buttons):
            button.setVisible(i in shown)

    def _wide(self, shown: Sequence[int]) -> int:
        """Pixels that these buttons want at the usual size."""
        for i in shown:
            if self.labels[i] not in self._widths:
                self.buttons[i].setFont(theme().font())
                self._widths[self.labels[i]] = self.buttons[i].sizeHint().width()
                self.buttons[i].setFont(theme().font(self._scale or 1.0))
        return 2 * GAP + sum(self._widths[self.labels[i]] + self._row.spacing() for i in shown)

    def _set_scale(self, scale: float) -> None:
        if scale != self._scale:
            self._scale = scale
            for button in self.buttons:
                button.setFont(theme().font(scale))

    def _add_button(self, index: int) -> None:
        button = QToolButton(checkable=True, autoRaise=True)
        button.setFont(theme().font(self._scale or 1.0))
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        button.clicked.connect(lambda: self._clicked(index))
        self._row.insertWidget(self._row.count() - 2, button)
        QWidget.setTabOrder(self.buttons[-1] if self.buttons else self.on, button)  # made late, it would come last
        self.buttons.append(button)

    def _clicked(self, index: int) -> None:
        self.buttons[index].setChecked(index == self.index)
        self.step_requested.emit(index)
