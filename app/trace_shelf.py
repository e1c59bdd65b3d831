"""Records of replies, read from the store when they are wanted, the newest few kept; and the recordings that ship."""

from __future__ import annotations

from collections import OrderedDict
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from app.naps import Naps
from app.store import Store, StoreError
from app.store.traces import DAMAGED
from app.tasks import Tasks
from engine import TraceError, Turn, trace_from_json

KEPT = 12
ASSETS = Path(__file__).resolve().parents[1] / "assets" / "traces"


class TraceShelf(QObject):
    """Asks once, answers everybody.

    Signals:
        found(int, Turn): the record of a message.
        missing(int, str): none is kept (""), or why it cannot be read.
    """

    found = Signal(int, object)
    missing = Signal(int, str)

    def __init__(self, tasks: Tasks, store: Store, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._tasks, self._store = tasks, store
        self._turns: OrderedDict[int, Turn] = OrderedDict()
        self._asked: set[int] = set()

    def put(self, message: int, turn: Turn) -> None:
        """Keep a turn."""
        self._turns[message] = turn
        self._turns.move_to_end(message)
        while len(self._turns) > KEPT:
            self._turns.popitem(last=False)

    def ask(self, message: int) -> None:
        """Answer with `found` or `missing`, at once when it is here."""
        if message in self._turns:
            self._turns.move_to_end(message)
            self.found.emit(message, self._turns[message])
        elif message not in self._asked:
            self._asked.add(message)
            read = partial(read_turn, self._store, message)
            self._tasks.run(read, "reading a record", partial(self._read, message), partial(self._failed, message))

    def _read(self, message: int, turn: Turn | None) -> None:
        self._asked.discard(message)
        if turn is None:
            self.missing.emit(message, "")
        else:
            self.put(message, turn)
            self.found.emit(message, turn)

    def _failed(self, message: int, sentence: str) -> None:
        self._asked.discard(message)
        self.missing.emit(message, sentence)


def read_turn(store: Store, message: int) -> Turn | None:
    """The record of a message, or None where none is kept."""
    text = store.traces.load(message)
    try:
        return None if text is None else trace_from_json(text, between=Naps())
    except TraceError as error:
        raise StoreError(DAMAGED) from error


def shipped_traces() -> list[Path]:
    """Recordings that come with Eyrie, in the order of their file names."""
    if not ASSETS.is_dir():
        return []
    return sorted(p for p in ASSETS.iterdir() if p.name.endswith((".json", ".json.gz")))
