"""Where Tab goes, without pressing it."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget


def tab_order(start: QWidget) -> list[QWidget]:
    """The widgets that Tab reaches after `start`, until it is back there."""
    found, widget = [], start.nextInFocusChain()
    while widget is not start:
        takes = bool(widget.focusPolicy() & Qt.FocusPolicy.TabFocus) and widget.focusProxy() is None
        if takes and widget.isVisible() and widget.isEnabled():
            found.append(widget)
        widget = widget.nextInFocusChain()
    return found
