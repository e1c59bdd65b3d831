"""Widgets in as many equal columns as fit. Knows nothing of what they are."""

from __future__ import annotations

from PySide6.QtCore import QSize
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QGridLayout, QScrollArea, QSizePolicy, QWidget

from app.theme import GAP


class FlowGrid(QWidget):
    """A grid whose column count follows its width, hidden widgets take no place."""

    def __init__(
        self, column_width: int, parent: QWidget | None = None, *, stretch_rows: bool = False, even: bool = True
    ) -> None:
        super().__init__(parent)
        self._column_width = column_width
        self._stretch_rows = stretch_rows
        self._even = even  # rows of the same length, rather than as many columns as fit
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setSpacing(GAP)
        self._widgets: list[QWidget] = []
        self.columns = 0
        self._sized = False  # before the first real width all stand in one row, or the window would start too high
        self.setSizePolicy(
            QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred if stretch_rows else QSizePolicy.Policy.Maximum
        )

    def set_column_width(self, pixels: int) -> None:
        """The least width of a column."""
        self._column_width = pixels
        self.arrange()

    def set_margin(self, pixels: int) -> None:
        """Keep so much free on the right side."""
        self._grid.setContentsMargins(0, 0, pixels, 0)

    def add(self, widget: QWidget) -> None:
        """Append a widget."""
        widget.setParent(self)
        widget.setSizePolicy(QSizePolicy.Policy.Ignored, widget.sizePolicy().verticalPolicy())  # equal columns
        self._widgets.append(widget)
        self.arrange(force=True)

    def clear(self) -> None:
        """Remove and delete all."""
        for widget in self._widgets:
            self._grid.removeWidget(widget)
            widget.hide()
            widget.deleteLater()
        self._widgets.clear()

    def set_shown(self, widget: QWidget, shown: bool) -> None:
        """Show or hide one of the widgets and close the gap."""
        widget.setVisible(shown)
        self.arrange(force=True)

    def shown(self) -> list[QWidget]:
        """The widgets that take a place."""
        return [w for w in self._widgets if not w.isHidden()]

    def arrange(self, *, force: bool = False) -> None:
        """Put the widgets where they belong at the present width."""
        shown = self.shown()
        columns = min(max(1, len(shown)), self.columns_at(self.room)) if self._sized else max(1, len(shown))
        if self._even and shown:
            columns = -(-len(shown) // -(-len(shown) // columns))
        if columns == self.columns and not force:
            return
        for column in range(self.columns):
            self._grid.setColumnStretch(column, 0)
        for row in range(self._grid.rowCount()):
            self._grid.setRowStretch(row, 0)
        for widget in self._widgets:
            self._grid.removeWidget(widget)
        for i, widget in enumerate(shown):
            row, column = divmod(i, columns)
            self._grid.addWidget(widget, row, column)
            self._grid.setColumnStretch(column, 1)
            if self._stretch_rows:
                self._grid.setRowStretch(row, 1)
        self.columns = columns

    @property
    def room(self) -> int:
        """The width that decides: in a scroll area the area's own, or the scroll bar would cost a column, and the
        column that is missing would keep the scroll bar."""
        viewport = self.parentWidget()
        area = viewport.parentWidget() if viewport is not None else None
        return area.width() if isinstance(area, QScrollArea) else self.width()

    def columns_at(self, width: int) -> int:
        """How many columns fit into a width."""
        return max(1, (width + GAP) // (self._column_width + GAP))

    def minimumSizeHint(self) -> QSize:
        """One column is always possible."""
        return QSize(self._column_width, super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Follow the width."""
        super().resizeEvent(event)
        self._sized = True
        self.arrange()
