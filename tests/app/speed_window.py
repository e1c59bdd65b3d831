"""Prompts answered in the real window on command, and what each cost: the window's side of `speed_child`."""

from __future__ import annotations

import argparse
import queue
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.main_window import MainWindow
from app.watchdog import Watchdog
from engine import SamplingConfig, Turn
from tests.app.event_costs import EventCosts
from tests.app.real_window import Driver
from tests.app.speed_reply import PROMPTS, alone, answer, told, with_settings


class Measure(Driver):
    """Types every prompt asked for, and waits."""

    def __init__(self, window: MainWindow, args: argparse.Namespace, costs: EventCosts | None) -> None:
        super().__init__(window, Path(args.data), True)
        self._args, self._costs = args, costs
        self._orders: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._marks: list[tuple[float, float]] = []  # time, and time of this thread: when a turn begins, and ends

    def scenario(self) -> Iterator[Any]:
        """Prompts, as long as there are any."""
        w = self.window
        dog = Watchdog(self) if self._args.watchdog else None
        yield lambda: w.models.state != "starting"
        yield lambda: w.models.state == "ready" and w.panels.pane.chat > 0 and self.idle()
        w.turns.started.connect(self._mark)
        w.turns.ended.connect(self._mark)
        for name in filter(None, self._args.hide.split(",")):
            w.panels.set_shown(name, False)
        answer({"ready": True})
        threading.Thread(target=self._listen, daemon=True).start()
        while True:
            self._since = time.monotonic()
            yield lambda: setattr(self, "_since", time.monotonic()) or not self._orders.empty()
            order = self._orders.get()
            if not order:
                return
            if order.startswith("alone"):
                yield from self.alone(order)
            else:
                yield from self.reply(PROMPTS[int(order.split()[1])], dog)

    def alone(self, order: str) -> Iterator[Any]:
        """One in this process and with this model, the window having nothing to do with it."""
        link, found = self.window.link, []
        number = link.run(lambda: alone(link.worker._model, order, self._args))
        told_by = link.answered.connect(lambda job, value: found.append(value) if job == number else None)
        self._timer.setInterval(100)
        yield lambda: found
        self._timer.setInterval(20)
        link.answered.disconnect(told_by)
        answer(found[0])

    def _mark(self, _turn: Turn) -> None:
        self._marks.append((time.perf_counter(), time.thread_time()))
        if self._costs is not None:
            if len(self._marks) == 2:
                print(self._costs.table(), file=sys.stderr)
            self._costs.clear()

    def reply(self, prompt: str, dog: Watchdog | None) -> Iterator[Any]:
        """One, from typing to the last picture."""
        w = self.window
        w.actions_["new_chat"].trigger()
        w.settings.set_sampling(SamplingConfig())
        w.settings.set_config(with_settings(w.settings.config, self._args))
        self._timer.setInterval(100)
        field = w.panels.pane.composer.input
        field.setFocus()
        QTest.keyClicks(field, prompt)
        yield lambda: True
        if dog is not None:
            dog.start()
        self._marks.clear()
        QTest.keyClick(field, Qt.Key.Key_Return)
        yield lambda: w.selection.turn is not None and w.selection.turn.end is not None and self.idle()
        (began, used), (ended, used_then) = self._marks
        found = {**told(w.selection.turn), "share": (used_then - used) / (ended - began)}
        if dog is not None:
            dog.stop()
            found |= {"block_ms": dog.longest_ms, "block_cpu_ms": dog.longest_cpu_ms, "blocks": dog.report()}
        self._timer.setInterval(20)
        answer(found)

    def _listen(self) -> None:
        for line in sys.stdin:
            self._orders.put(line.strip())
        self._orders.put("")
