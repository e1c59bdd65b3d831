"""The attention mask with its readout above; the grid scrolls, the words stay."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QScrollArea, QSizePolicy, QVBoxLayout, QWidget

from app.theme import GAP, GAP_SMALL, theme
from app.tree.mask_grid import MaskGrid


class MaskPane(QWidget):
    """Words over a scrolling `grid`."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.grid = MaskGrid()
        self.readout = QLabel(self.grid.readout())
        self.readout.setTextFormat(Qt.TextFormat.PlainText)
        self.readout.setWordWrap(True)
        self.readout.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
        self.readout.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.readout.setContentsMargins(GAP, GAP_SMALL, GAP, 0)
        self._area = area = QScrollArea()
        area.setWidget(self.grid)
        area.setWidgetResizable(True)
        area.setFrameShape(QScrollArea.Shape.NoFrame)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        box = QVBoxLayout(self)
        box.setContentsMargins(0, 0, 0, 0)
        box.setSpacing(0)
        box.addWidget(self.readout)
        box.addWidget(area, 1)
        self.grid.said.connect(self.readout.setText)
        self.grid.said.connect(self._follow)
        theme().changed.connect(self.restyle)
        self.restyle()

    def restyle(self) -> None:
        """Three lines always, so that the grid does not jump."""
        self.readout.setFont(theme().font(0.92))
        self.readout.setFixedHeight(3 * self.readout.fontMetrics().lineSpacing() + GAP_SMALL)

    def _follow(self) -> None:
        """Keep the cell that the keyboard is on in sight; the mouse is where it is."""
        if self.grid.hasFocus() and self.grid.cell is not None:
            cell = self.grid.cell_rect(*self.grid.cell).toRect()
            at, size = cell.center(), cell.size()
            self._area.ensureVisible(at.x(), at.y(), size.width(), size.height())
