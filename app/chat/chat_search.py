"""Searches all chats a few at a time, so that a large database does not hold up the window. Shows nothing."""

from __future__ import annotations

import time

from PySide6.QtCore import QObject, QTimer, Signal

from app.one_by_one import TURN_SECONDS
from app.store import Store, StoreError

MOST = 200  # hits


class ChatSearch(QObject):
    """One search at a time; the first chats are looked through at once.

    Signals:
        found(list): more hits, chat by chat, the newest chat first.
        ended(int): nothing follows; how many there were.
        problem(str): one sentence; nothing follows.
    """

    found = Signal(list)
    ended = Signal(int)
    problem = Signal(str)

    def __init__(self, store: Store, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self._words = ""
        self._left: list[int] = []  # chats, the next one last
        self._count = 0
        self._timer = QTimer(self, interval=0, singleShot=True)
        self._timer.timeout.connect(self._go_on)

    def begin(self, words: str) -> None:
        """Search for these words, and for no others any more."""
        self._words, self._count = words, 0
        try:
            self._left = [chat.id for chat in reversed(self._store.chats.list())]
        except StoreError as error:
            self._fail(error)
        else:
            self._go_on()

    def stop(self) -> None:
        """Forget it."""
        self._timer.stop()

    def _go_on(self) -> None:
        until, hits = time.perf_counter() + TURN_SECONDS, []
        try:
            while self._left and self._count + len(hits) < MOST:
                hits += self._store.chats.search(self._words, self._left.pop())
                if time.perf_counter() > until:
                    break
        except StoreError as error:
            self._fail(error)
            return
        hits = hits[: MOST - self._count]
        self._count += len(hits)
        if hits:
            self.found.emit(hits)
        if self._left and self._count < MOST:
            self._timer.start()
        else:
            self.ended.emit(self._count)

    def _fail(self, error: StoreError) -> None:
        self._timer.stop()
        self.problem.emit(str(error))
