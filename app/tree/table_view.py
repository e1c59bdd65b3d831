"""The table twin in its window: the rows, and buttons that copy them."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, Qt, QTimer, Signal
from PySide6.QtGui import QGuiApplication, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QAbstractItemView, QHBoxLayout, QPushButton, QTreeView, QVBoxLayout, QWidget

from app.theme import GAP, GAP_SMALL
from app.tree.drawing import key_of, number_of
from app.tree.keyboard_mark import KeyboardMark
from app.tree.table import COLUMNS, TreeModel
from app.tree.words import tree_text
from engine.trace import Round

WIDTHS = {"token": 250, "fate": 300, "target wanted next": 160, "verified row": 88}
WIDTH = 66
COPIED_MS = 1500  # a button says so long that it has copied


class _Rows(QTreeView):
    """Ctrl+C copies the row; keys without meaning here go to the panel instead of searching."""

    copy_requested = Signal()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Copy, walk, or pass on."""
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy_requested.emit()
        elif event.key() in (Qt.Key.Key_Space, Qt.Key.Key_Comma, Qt.Key.Key_Period, Qt.Key.Key_Escape, Qt.Key.Key_F):
            event.ignore()
        else:
            super().keyPressEvent(event)

    def keyboardSearch(self, search: str) -> None:
        """Off: letters are shortcuts here."""


class TreeTable(QWidget):
    """The model with its view.

    Signals:
        node_hovered: the row the keyboard is on, as in `TreeView`; node_clicked: a click or Enter.
    """

    node_hovered = Signal(int)
    node_clicked = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.shown: Round | None = None
        self.model = TreeModel(self)
        self.view = _Rows()
        self._keyboard = KeyboardMark(self.view, self.node_hovered)
        self.view.setModel(self.model)
        self.view.setUniformRowHeights(True)
        self.view.setAlternatingRowColors(True)
        self.view.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.view.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.view.setTextElideMode(Qt.TextElideMode.ElideRight)
        self.view.setIndentation(14)
        self.view.setSortingEnabled(False)
        self.view.setAccessibleName("Draft tree as a table")
        self.view.header().setStretchLastSection(False)
        for i, name in enumerate(COLUMNS):
            self.view.setColumnWidth(i, WIDTHS.get(name, WIDTH))
        self.copy_row = self._button("Copy row", "Copy the selected row (Ctrl+C)", self._copy_row)
        self.copy_table = self._button("Copy table", "Copy all rows, tab-separated", self._copy_table)
        self.copy_text = self._button("Copy as text", "Copy the tree as indented text", self._copy_text)
        self._copied = QTimer(self, interval=COPIED_MS, singleShot=True)
        self._copied.timeout.connect(self._name_buttons)
        row = QHBoxLayout()
        row.setContentsMargins(GAP, GAP_SMALL, GAP, GAP_SMALL)
        row.setSpacing(GAP_SMALL)
        for button in (self.copy_row, self.copy_table, self.copy_text):
            row.addWidget(button)
        row.addStretch(1)
        box = QVBoxLayout(self)
        box.setContentsMargins(0, 0, 0, 0)
        box.setSpacing(0)
        box.addWidget(self.view, 1)
        box.addLayout(row)
        self.view.copy_requested.connect(self._copy_row)
        self.view.clicked.connect(self._clicked)
        self.view.activated.connect(self._clicked)
        self.view.selectionModel().currentChanged.connect(self._moved)
        self.show_round(None)

    def show_round(self, shown: Round | None) -> None:
        """Show another round, all rows open; the same round again changes nothing."""
        if shown is self.shown and shown is not None:
            return
        self.shown = shown
        self._keyboard.forget()
        self.model.show_round(shown)
        self.view.expandAll()
        for button in (self.copy_row, self.copy_table, self.copy_text):
            button.setEnabled(shown is not None)

    def mark(self, node: int) -> None:
        """Select the row of a node that was pinned elsewhere."""
        index = self.model.index_of(self._key(node))
        if index.isValid() and index.siblingAtColumn(0) != self.view.currentIndex().siblingAtColumn(0):
            with_signals = self.view.selectionModel().blockSignals(True)
            self.view.setCurrentIndex(index)
            self.view.selectionModel().blockSignals(with_signals)
            self.view.scrollTo(index)
            self.view.viewport().update()

    def _button(self, text: str, tip: str, call: object) -> QPushButton:
        button = QPushButton(text)
        button.setToolTip(tip)
        button.setAccessibleName(text)
        button.setAccessibleDescription(tip)
        button.clicked.connect(call)
        return button

    def _key(self, node: int) -> int | str | None:
        return key_of(self.shown, node)

    def _node(self, index: QModelIndex) -> int:
        return number_of(self.shown, self.model.key_of(index))

    def _moved(self, current: QModelIndex) -> None:
        if self.view.hasFocus():
            self._keyboard.tell(self._node(current))

    def _clicked(self, index: QModelIndex) -> None:
        self.node_clicked.emit(self._node(index))

    def _copy_row(self) -> None:
        self._copy(self.model.row_text(self.view.currentIndex()), self.copy_row)

    def _copy_table(self) -> None:
        self._copy(self.model.table_text(), self.copy_table)

    def _copy_text(self) -> None:
        self._copy(tree_text(self.shown) if self.shown else "", self.copy_text)

    def _copy(self, text: str, button: QPushButton) -> None:
        if text:
            QGuiApplication.clipboard().setText(text)
            self._name_buttons()
            button.setMinimumWidth(button.width())  # the others stay where they are
            button.setText("Copied ✓")
            self._copied.start()

    def _name_buttons(self) -> None:
        for button in (self.copy_row, self.copy_table, self.copy_text):
            button.setText(button.accessibleName())
            button.setMinimumWidth(0)
