"""Reads recordings from files beside the window, says so when it takes long, and can be stopped."""

from __future__ import annotations

import gc
import threading
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal

from app.message_bar import MessageBar
from app.naps import Naps
from app.tasks import Tasks
from engine import Turn, load_trace

SAY_MS = 300  # a recording that takes longer to read is announced


class TraceReader(QObject):
    """One recording at a time; the one asked for last counts.

    Signals:
        done(Turn, str): it was read; the name it was given.
        problem(str): one sentence why it was not. A reading that was stopped says nothing.
    """

    done = Signal(object, str)
    problem = Signal(str)

    def __init__(self, tasks: Tasks, messages: MessageBar, parent: QObject) -> None:
        super().__init__(parent)
        self._tasks, self._messages = tasks, messages
        self._going_on: threading.Event | None = None  # stops it

    def read(self, path: Path, name: str) -> None:
        """Begin; the file may be anything."""
        self.cancel()
        stop = self._going_on = threading.Event()
        then, otherwise = partial(self._read, stop, name), partial(self._failed, stop)
        self._tasks.run_beside(partial(_load, path, stop), f"opening {path.name}", then, otherwise)
        QTimer.singleShot(SAY_MS, self, partial(self._say, stop, path.name))

    def cancel(self) -> None:
        """Stop, if something is being read."""
        if self._going_on is not None:
            self._going_on.set()
            self._end()

    def _say(self, stop: threading.Event, name: str) -> None:
        if self._going_on is stop:
            cancel = ("Cancel", self.cancel)
            self._messages.show_message(f"Reading {name}…", actions=[cancel], key="reading", stays=True)

    def _end(self) -> None:
        self._going_on = None
        self._messages.dismiss("reading")

    def _read(self, stop: threading.Event, name: str, turn: Turn) -> None:
        if self._going_on is stop:
            self._end()
            self.done.emit(turn, name)

    def _failed(self, stop: threading.Event, sentence: str) -> None:
        if self._going_on is stop:
            self._end()
            self.problem.emit(sentence)


def _load(path: Path, stop: threading.Event) -> Turn:
    """Without looking for garbage: records are in no circles, and looking through millions of them again and again lets
    no other thread do anything."""
    gc.disable()
    try:
        turn = load_trace(path, stop, Naps())
        gc.freeze()
    finally:
        gc.enable()
    return turn
