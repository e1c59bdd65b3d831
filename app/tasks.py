"""Calls done outside the main thread, with their answers brought back to the caller in it: short ones in the engine's
thread, long ones beside it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from PySide6.QtCore import QObject, Signal, Slot

from app.beside import Beside, Otherwise, Then
from app.engine_link import EngineLink
from app.log import explained


class Tasks(QObject):
    """`run(call, then, otherwise)`.

    Signals:
        failed(str, str): sentence and traceback or "" of a call whose caller gave no `otherwise`.
    """

    failed = Signal(str, str)

    def __init__(self, link: EngineLink, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._link = link
        self._waiting: dict[int, tuple[Then | None, Otherwise | None]] = {}
        link.answered.connect(self._answered)
        link.failed.connect(self._failed)
        self._beside = Beside(self)

    def run(
        self, call: Callable[[], Any], doing: str, then: Then | None = None, otherwise: Otherwise | None = None
    ) -> None:
        """Call in the engine's thread; `then` gets the result, `otherwise` the sentence of an error, both here."""
        self._waiting[self._link.run(call, doing)] = (then, otherwise)

    def run_beside(self, call: Callable[[], Any], doing: str, then: Then, otherwise: Otherwise) -> None:
        """The same in another thread, for what takes seconds: a running reply goes on meanwhile."""
        self._beside.run(call, then, partial(_tell, doing, otherwise))

    @Slot(int, object)
    def _answered(self, job: int, value: Any) -> None:
        then, _ = self._waiting.pop(job, (None, None))
        if then is not None:
            then(value)

    @Slot(int, str, str, bool)
    def _failed(self, job: int, sentence: str, detail: str, _cancelled: bool) -> None:
        if job not in self._waiting:
            return
        _, otherwise = self._waiting.pop(job)
        if otherwise is not None:
            otherwise(sentence)
        else:
            self.failed.emit(sentence, detail)


def _tell(doing: str, otherwise: Otherwise, error: Exception) -> None:
    otherwise(explained(error, doing)[0])
