"""Holds the pictures of all windows while much of them changes, so that each is drawn once, when all is done.

A window that names its parts is then drawn part by part, each in a turn of the event loop of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Protocol, runtime_checkable

from PySide6.QtCore import QCoreApplication, QEvent, QObject, QPoint, Qt
from PySide6.QtGui import QRegion
from PySide6.QtWidgets import QApplication, QWidget
from shiboken6 import isValid

from app.one_by_one import OneByOne

GAP_MS = 2  # between two parts: what was pressed meanwhile comes first
HELD = Qt.WidgetAttribute.WA_UpdatesDisabled


@runtime_checkable
class DrawnInParts(Protocol):
    """A window whose picture takes long."""

    def picture_parts(self) -> Sequence[Sequence[QWidget]]:
        """Widgets that are drawn together, first to last; none is inside another one."""


class HeldPictures:
    """`hold()`, then `release()`; holding twice is holding once."""

    def __init__(self, parent: QObject | None = None) -> None:
        self._held: list[QWidget] = []
        self._parts = OneByOne(parent, GAP_MS)

    def hold(self) -> None:
        """Draw nothing of the windows that can be seen now."""
        self._parts.finish()
        for window in QApplication.topLevelWidgets():
            if window.isVisible() and window.updatesEnabled():
                window.setUpdatesEnabled(False)
                self._held.append(window)

    def release(self) -> None:
        """Draw them."""
        held, self._held = self._held, []
        later = [step for window in held if isValid(window) for step in _steps(window)]
        if held:
            self._parts.begin(*later)


def _steps(window: QWidget) -> list[partial[None]]:
    """What draws the window, one after the other; a window without parts is drawn now."""
    if not isinstance(window, DrawnInParts):
        window.setUpdatesEnabled(True)
        request_picture(window)
        return []
    groups = [[part for part in group if part.isVisible()] for group in window.picture_parts()]
    return [*(partial(_draw, window, group) for group in groups if group), partial(_draw_rest, window, groups)]


def _draw(window: QWidget, group: Sequence[QWidget]) -> None:
    """Have these drawn; what they stand in may be drawn in, and is not drawn itself."""
    for part in filter(isValid, group):
        around = part.parentWidget()
        while around is not None:
            around.setAttribute(HELD, False)
            around = around.parentWidget() if around is not window else None
        part.setUpdatesEnabled(True)
    if isValid(window):
        request_picture(window)


def _draw_rest(window: QWidget, groups: Sequence[Sequence[QWidget]]) -> None:
    """Have drawn what is in no part."""
    if not isValid(window):
        return
    window.setAttribute(HELD, False)
    rest = QRegion(window.rect())
    parts = [part for group in groups for part in group if isValid(part)]
    for part in parts:
        seen = part.visibleRegion().boundingRect()
        rest -= QRegion(seen.translated(part.mapTo(window, QPoint())))
    _free(window, set(parts))
    window.update(rest)
    request_picture(window)


def _free(around: QWidget, parts: set[QWidget]) -> None:
    """Let everything in it be drawn again, except what holds itself."""
    for widget in around.children():
        if not isinstance(widget, QWidget) or widget.isWindow() or widget in parts:
            continue
        if not widget.testAttribute(HELD):
            _free(widget, parts)
        elif not widget.testAttribute(Qt.WidgetAttribute.WA_ForceUpdatesDisabled):
            widget.setUpdatesEnabled(True)


def request_picture(window: QWidget) -> None:
    """Ask Qt to draw a window that was held: a request that it passed over counts as made, so it makes no other."""
    QCoreApplication.postEvent(window, QEvent(QEvent.Type.UpdateRequest))
