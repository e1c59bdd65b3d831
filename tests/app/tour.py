"""A window to do things in, as `block_tour` does, and the steps that all things are made of. Knows no action."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import Qt, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from app.main_window import MainWindow
from tests.app.real_window import Wait

SCREEN = 0.25  # seconds between two things that a person does one after the other
PLAIN, SHIFT = Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.ShiftModifier
Steps = Iterator[Wait]


@dataclass(frozen=True)
class Tour:
    """The window, a folder to write to, and the chats."""

    w: MainWindow
    out: Path
    ids: dict[str, int]

    def pause(self, seconds: float) -> Steps:
        """Let the event loop run."""
        until = time.monotonic() + seconds
        yield lambda: time.monotonic() >= until

    def open(self, chat: str) -> Steps:
        """Show a chat."""
        self.w.panels.chats.select(self.ids[chat])
        self.w.pages.open_chat(self.ids[chat])
        yield from self.pause(SCREEN)

    def trigger(self, *names: str) -> Steps:
        """Commands of the menus, one after the other."""
        for name in names:
            QTimer.singleShot(0, self.w.actions_[name].trigger)
            yield from self.pause(SCREEN)

    def popup(self, show: Callable[[], object]) -> Steps:
        """Open something that stands over the window, and close it."""
        QTimer.singleShot(0, show)  # it may run an event loop of its own
        yield over
        yield from self.pause(SCREEN)
        widget = over()
        if widget is not None:
            widget.close()
        yield from self.pause(SCREEN)

    def key(self, widget: QWidget, *keys: Qt.Key, shift: bool = False) -> Steps:
        """Press keys, one per turn of the event loop."""
        widget.setFocus()
        for key in keys:
            QTest.keyClick(widget, key, SHIFT if shift else PLAIN)
            yield from self.pause(0.06)


@dataclass(frozen=True)
class Action:
    """Something to do; `chat`: where a reply streams meanwhile, in view when it begins ("": whatever is)."""

    name: str
    do: Callable[[Tour], Steps]
    chat: str = "plain"
    prepare: Callable[[Tour], Steps] | None = None


def over() -> QWidget | None:
    """What stands over the window."""
    return QApplication.activePopupWidget() or QApplication.activeModalWidget()
