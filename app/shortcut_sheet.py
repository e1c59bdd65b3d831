"""All keys on one sheet, opened by `?` and F1; not modal."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent, QKeySequence
from PySide6.QtWidgets import QGridLayout, QLabel, QScrollArea, QVBoxLayout, QWidget

from app.actions import shortcut_lines
from app.theme import GAP, GAP_LARGE, GAP_TINY, theme

COLUMNS = 3


class ShortcutSheet(QWidget):
    """A window of its own beside the main window; Esc closes it."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent, Qt.WindowType.Tool)
        self.setWindowTitle("Keyboard shortcuts")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        page = QWidget()
        grid = QGridLayout(page)
        grid.setHorizontalSpacing(GAP_LARGE * 2)
        grid.setVerticalSpacing(GAP_LARGE)
        for i, (title, lines) in enumerate(shortcut_lines().items()):
            grid.addWidget(_group(title, lines), i // COLUMNS, i % COLUMNS, Qt.AlignmentFlag.AlignTop)
        scroll = QScrollArea()
        scroll.setAccessibleName("Keyboard shortcuts")
        scroll.setWidgetResizable(True)
        scroll.setFrameShape(QScrollArea.Shape.NoFrame)
        scroll.setWidget(page)
        layout = QVBoxLayout(self)
        layout.addWidget(scroll)
        hint = page.sizeHint()
        self.resize(hint.width() + 4 * GAP, min(hint.height() + 4 * GAP, 760))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Esc, `?` and F1 close it."""
        if event.key() in (Qt.Key.Key_Escape, Qt.Key.Key_Question, Qt.Key.Key_F1):
            self.close()
        else:
            super().keyPressEvent(event)


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
