"""All keys on one sheet, opened by `?` and F1; not modal."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QCloseEvent, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QDialog, QGridLayout, QHBoxLayout, QLabel, QScrollArea, QVBoxLayout, QWidget

from app.actions import shortcut_lines
from app.one_by_one import OneByOne
from app.theme import GAP, GAP_LARGE, GAP_TINY, theme

Groups = dict[str, list[tuple[str, str]]]
COLUMNS = 3
MARGIN = 40  # pixels between the sheet and the edges of the screen
GAP_MS = 2  # between two columns: what was pressed meanwhile comes first


class ShortcutSheet(QDialog):
    """A window of its own beside the main window; Esc, `?` and F1 close it.

    Attributes:
        wanted: it is on the screen or about to be.
    """

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle("Keyboard shortcuts")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.wanted = False
        self._steps = OneByOne(self, GAP_MS)
        self._page = QWidget()
        self._across = QHBoxLayout(self._page)
        self._across.setSpacing(GAP_LARGE * 2)
        self._scroll = QScrollArea()
        self._scroll.setAccessibleName("Keyboard shortcuts")
        self._scroll.setWidgetResizable(True)
        self._scroll.setFrameShape(QScrollArea.Shape.NoFrame)
        self._scroll.setWidget(self._page)
        QVBoxLayout(self).addWidget(self._scroll)

    def appear(self) -> None:
        """Fill it, a column in each turn of the event loop, and put it on the screen, or above the others."""
        if not self.wanted:
            self.wanted = True
            self._steps.begin(*(partial(self._add, groups) for groups in _columns(shortcut_lines())), self._show)
        elif self.isVisible():
            self._raise()

    def _add(self, groups: Groups) -> None:
        column = QVBoxLayout()
        column.setSpacing(GAP_LARGE)
        for title, lines in groups.items():
            column.addWidget(_group(title, lines))
        column.addStretch(1)
        self._across.addLayout(column)

    def _show(self) -> None:
        hint, room = self._page.sizeHint(), self.screen().availableSize()
        wanted = QSize(hint.width() + 6 * GAP, hint.height() + 6 * GAP)
        self.resize(wanted.boundedTo(room - QSize(MARGIN, 2 * MARGIN)))
        self._scroll.setFocus()
        self.show()
        self._raise()

    def _raise(self) -> None:
        self.raise_()
        self.activateWindow()

    def closeEvent(self, event: QCloseEvent) -> None:
        """It goes; asked for again, there is another one."""
        self.wanted = False
        super().closeEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Keys of this widget."""
        if event.key() in (Qt.Key.Key_Escape, Qt.Key.Key_Question, Qt.Key.Key_F1):
            self.close()
        else:
            super().keyPressEvent(event)


def _columns(groups: Groups) -> list[Groups]:
    """The groups in their order, in columns of about the same height."""
    most = sum(len(lines) + 2 for lines in groups.values()) / COLUMNS  # a heading counts twice
    columns: list[Groups] = [{} for _ in range(COLUMNS)]
    number, height = 0, 0.0
    for title, lines in groups.items():
        if height and height + len(lines) / 2 > most and number + 1 < COLUMNS:
            number, height = number + 1, 0.0
        columns[number][title] = lines
        height += len(lines) + 2
    return columns


def _group(title: str, lines: list[tuple[str, str]]) -> QWidget:
    box = QWidget()
    grid = QGridLayout(box)
    grid.setContentsMargins(0, 0, 0, 0)
    grid.setVerticalSpacing(GAP_TINY)
    grid.setHorizontalSpacing(GAP_LARGE)
    grid.setColumnStretch(1, 1)
    heading = QLabel(title)
    heading.setFont(theme().font(1.1, bold=True))
    grid.addWidget(heading, 0, 0, 1, 2)
    for row, (keys, text) in enumerate(lines, 1):
        label = QLabel(_native(keys))
        label.setFont(theme().font(0.9, mono=True))
        grid.addWidget(label, row, 0)
        grid.addWidget(QLabel(text), row, 1)
    return box


def _native(keys: str) -> str:
    """Keys as this system writes them; words stay words."""
    sequence = QKeySequence(keys)
    native = sequence.toString(QKeySequence.SequenceFormat.NativeText)
    return native if native and "," not in keys and " " not in keys else keys
