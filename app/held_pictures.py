"""Holds the pictures of all windows while much of them changes, so that each is drawn once, when all is done."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, QEvent
from PySide6.QtWidgets import QApplication, QWidget
from shiboken6 import isValid


class HeldPictures:
    """`hold()`, then `release()`; holding twice is holding once."""

    def __init__(self) -> None:
        self._held: list[QWidget] = []

    def hold(self) -> None:
        """Draw nothing of the windows that can be seen now."""
        for window in QApplication.topLevelWidgets():
            if window.isVisible() and window.updatesEnabled():
                window.setUpdatesEnabled(False)
                self._held.append(window)

    def release(self) -> None:
        """Draw them."""
        held, self._held = self._held, []
        for window in held:
            if isValid(window):
                window.setUpdatesEnabled(True)
                # A request that Qt passed over while the window was held still counts as made, so it makes no other.
                QCoreApplication.postEvent(window, QEvent(QEvent.Type.UpdateRequest))
