"""The parts around the tree in their places: header, legend, tree, steps, timeline; on demand table, mask and cache.

Knows where they are and which are open; knows no selection.
"""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.splitter import Splitter
from app.tree.header import TreeHeader
from app.tree.kv_strip import KvStrip
from app.tree.legend import Legend
from app.tree.mask_pane import MaskPane
from app.tree.phase_bar import PhaseBar
from app.tree.table_view import TreeTable
from app.tree.timeline import Timeline
from app.tree.view import TreeView

BOTH_HEIGHT = 900  # of the window: below it, table and mask take each other's place
BESIDE = (0.55, 0.45)  # shares of the width: tree, and what is opened beside it


class Panes(QWidget):
    """All parts, laid out.

    Signals:
        pane_opened: a pane was opened or closed by the header.
    """

    pane_opened = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.header, self.legend, self.phase_bar = TreeHeader(), Legend(), PhaseBar()
        self.view, self.timeline, self.kv_strip = TreeView(), Timeline(), KvStrip()
        self.table, self.mask_pane = TreeTable(), MaskPane()
        self.mask_grid = self.mask_pane.grid
        self._lay_out()
        self.header.table_toggled.connect(self._show_table)
        self.header.mask_toggled.connect(self._show_mask)
        self.header.kv_toggled.connect(self._show_kv)

    def _lay_out(self) -> None:
        self.side = Splitter(Qt.Orientation.Vertical)
        self.side.addWidget(self.table)
        self.side.addWidget(self.mask_pane)
        self.across = Splitter(Qt.Orientation.Horizontal)
        self.across.addWidget(self.view)
        self.across.addWidget(self.side)
        self.across.setStretchFactor(0, 1)
        self.across.setCollapsible(0, False)
        upper = QWidget()
        box = QVBoxLayout(upper)
        box.setContentsMargins(0, 0, 0, 0)
        box.setSpacing(0)
        for widget, stretch in (
            (self.header, 0), (self.legend, 0), (self.across, 1), (self.kv_strip, 0), (self.phase_bar, 0),
        ):  # fmt: skip
            box.addWidget(widget, stretch)
        self.down = Splitter(Qt.Orientation.Vertical)
        self.down.addWidget(upper)
        self.down.addWidget(self.timeline)
        self.down.setStretchFactor(0, 1)
        self.down.setCollapsible(0, False)
        self.side.name_borders("table", "attention mask")
        self.across.name_borders("draft tree", "what is beside it")
        self.down.name_borders("draft tree", "timeline")
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(self.down)
        for pane in (self.table, self.mask_pane, self.kv_strip, self.side):
            pane.hide()

    def _show_table(self, on: bool) -> None:
        self._open(self.table, on)

    def _show_mask(self, on: bool) -> None:
        self._open(self.mask_pane, on)

    def _show_kv(self, on: bool) -> None:
        self._open(self.kv_strip, on)

    def _open(self, pane: QWidget, on: bool) -> None:
        if on and self.window().height() < BOTH_HEIGHT:  # two of them would show a line each, and the window would grow
            other = {self.table: "mask", self.mask_pane: "table"}.get(pane)
            self.header.set_options({other: False} if other else {})
        pane.setVisible(on)
        beside = not (self.table.isHidden() and self.mask_pane.isHidden())
        if beside and self.side.isHidden():
            self.side.show()
            self.across.setSizes([round(self.width() * share) for share in BESIDE])
        self.side.setVisible(beside)
        self.side.setSizes([self.height(), self.height()])
        self.pane_opened.emit()
