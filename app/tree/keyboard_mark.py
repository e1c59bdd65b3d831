"""Tells which node the keyboard is on, and takes it back once: on request, and when the focus leaves."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, SignalInstance
from PySide6.QtWidgets import QWidget


class KeyboardMark(QObject):
    """Belongs to the widget that the keys go to; `hovered` is its signal with the node, -1 for none."""

    def __init__(self, widget: QWidget, hovered: SignalInstance) -> None:
        super().__init__(widget)
        self._hovered = hovered
        self._told = False
        widget.installEventFilter(self)

    def tell(self, node: int) -> None:
        """The keyboard is on this node."""
        self._told = node >= 0
        self._hovered.emit(node)

    def forget(self) -> None:
        """The keyboard is on no node any more. What the mouse points at is not its business."""
        if self._told:
            self.tell(-1)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """The focus leaves."""
        if event.type() == QEvent.Type.FocusOut:
            self.forget()
        return False
