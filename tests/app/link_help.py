"""Hears what the engine's thread says, for the tests of the link to it."""

from __future__ import annotations

import threading

from PySide6.QtCore import QObject, QThread, Slot

from app.engine_link import EngineLink
from engine.trace import Phase, Round

HELLO = [{"role": "user", "content": "Tell me a story"}]


class Recorder:
    """Keeps what it hears, and where it hears it; may fail."""

    def __init__(self, error: Exception | None = None) -> None:
        self.heard: list = []
        self.threads: set[int] = set()
        self.closed: list[str] = []
        self.error = error

    def add(self, event):
        self.threads.add(threading.get_ident())
        if self.error:
            raise self.error
        self.heard.append(event)

    def close(self, error, cancelled):
        self.threads.add(threading.get_ident())
        self.closed.append((error, cancelled))


class Ear(QObject):
    """Hears everything, and in which thread."""

    def __init__(self, link: EngineLink) -> None:
        super().__init__()
        self.events: dict[int, list] = {}
        self.failures: list[tuple[int, str, str, bool]] = []
        self.warnings: list[str] = []
        self.finished: list[int] = []
        self.counts: list[tuple[object, int]] = []
        self.answers: dict[int, object] = {}
        self.progress: list = []
        self.plain: list = []
        self.threads: set[QThread] = set()
        link.turn_events.connect(self.on_events)
        link.failed.connect(self.on_failed)
        link.warned.connect(self.on_warned)
        link.done.connect(self.on_done)
        link.counted.connect(self.on_counted)
        link.answered.connect(self.on_answered)
        link.progressed.connect(self.on_progress)
        link.calibrated.connect(self.on_calibrated)

    def _here(self) -> None:
        self.threads.add(QThread.currentThread())

    @Slot(int, list)
    def on_events(self, job, events):
        self._here()
        self.events.setdefault(job, []).extend(events)

    @Slot(int, str, str, bool)
    def on_failed(self, *args):
        self._here()
        self.failures.append(args)

    @Slot(str, str)
    def on_warned(self, sentence, detail):
        self._here()
        self.warnings.append(sentence)

    @Slot(int)
    def on_done(self, job):
        self._here()
        self.finished.append(job)

    @Slot(object, int)
    def on_counted(self, key, tokens):
        self._here()
        self.counts.append((key, tokens))

    @Slot(int, object)
    def on_answered(self, job, value):
        self._here()
        self.answers[job] = value

    @Slot(int, object)
    def on_progress(self, job, progress):
        self._here()
        self.progress.append(progress)

    @Slot(object, str)
    def on_calibrated(self, ms, reason):
        self._here()
        self.plain.append((ms, reason))

    def kinds(self, job: int) -> list[type]:
        return [type(e) for e in self.events.get(job, [])]

    def rounds(self, job: int) -> list[Round]:
        return [e for e in self.events.get(job, []) if isinstance(e, Round)]

    def phases(self, job: int) -> list[Phase]:
        return [e for e in self.events.get(job, []) if isinstance(e, Phase)]


def finish(qtbot, ear, job):
    """Wait until a job is over."""
    qtbot.waitUntil(lambda: job in ear.finished, timeout=5000)
