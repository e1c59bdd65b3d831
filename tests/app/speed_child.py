"""What `window_speed` measures: a process that answers prompts on command, headless or with the real window.

    python -m tests.app.speed_child headless|window [--settings …] [--new-tokens N] [--hide …] [--watchdog] [--events]

Reads "KIND NUMBER" per line, answers that prompt, writes one JSON object; ends when its input does. KIND "typed": into
a new chat of the window; "alone": by the engine's thread with a session of its own, nothing kept, nothing shown. Rates
are those of the engine's own clock, from the first round to the end of the turn, so that everything between two rounds
counts.
"""

from __future__ import annotations

import argparse
import json
import queue
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import onnxruntime  # noqa: F401  (before Qt, as main.py does)
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.cli.bench_prompts import BUILT_IN
from engine import ChatSession, EngineConfig, Model, SamplingConfig, Turn, ensure_model

PROMPTS = [BUILT_IN[i].text for i in (0, 2, 4, 6, 8)]
PARTS = ("draft", "verify", "commit", "host")
SETTINGS = ("eagle_topk", "eagle_depth", "draft_predict_length", "eagle_lookup")


def told(turn: Turn) -> dict[str, Any]:
    """Tokens per second, the text, and milliseconds per round: what it was spent on, and between two rounds."""
    assert turn.end is not None
    count = len(turn.rounds)
    whole = turn.end.total_ms - turn.rounds[0].timings.start
    sums = {part: sum(getattr(r.timings, part) for r in turn.rounds) / count for part in PARTS}
    parts = {**sums, "between": whole / count - sum(sums.values())}
    rate = 1000 * sum(len(r.emitted) for r in turn.rounds) / whole
    return {"rate": rate, "text": turn.text, "parts": parts, "ms": whole}


def with_settings(config: EngineConfig, args: argparse.Namespace) -> EngineConfig:
    """The model's own settings, or those asked for."""
    changes: dict[str, Any] = {"max_new_tokens": args.new_tokens}
    if args.settings:
        changes |= dict(zip(SETTINGS, map(int, args.settings.split(",")), strict=True))
    return config.with_(**changes)


def answer(found: dict[str, Any]) -> None:
    """One line to whoever asked."""
    print(json.dumps(found), flush=True)


def alone(model: Model, order: str, args: argparse.Namespace) -> dict[str, Any]:
    """One reply of the engine and nothing else."""
    prompt = PROMPTS[int(order.split()[1])]
    session = ChatSession(model, with_settings(model.defaults, args))
    turn = Turn()
    for event in session.generate([{"role": "user", "content": prompt}], SamplingConfig()):
        turn.add(event)
    return told(turn)


def headless(args: argparse.Namespace) -> None:
    """Without a window."""
    model = Model.load(ensure_model())
    answer({"ready": True})
    for line in sys.stdin:
        answer(alone(model, line, args))
    model.close()


def in_window(args: argparse.Namespace) -> None:
    """In the real window on a screen."""
    import app.window
    from app.main_window import MainWindow
    from app.watchdog import Watchdog
    from tests.app.event_costs import EventCosts, watched_application
    from tests.app.real_window import Driver

    orders: queue.SimpleQueue[str] = queue.SimpleQueue()

    class Measure(Driver):
        """Types every prompt asked for, and waits."""

        def scenario(self) -> Iterator[Any]:
            w = self.window
            dog = Watchdog(self) if args.watchdog else None
            yield lambda: w.models.state != "starting"
            yield lambda: w.models.state == "ready" and w.panels.pane.chat > 0 and self.idle()
            self._marks: list[tuple[float, float]] = []  # time, and time of this thread: when a turn begins, and ends
            w.turns.started.connect(self._mark)
            w.turns.ended.connect(self._mark)
            for name in filter(None, args.hide.split(",")):
                w.panels.set_shown(name, False)
            answer({"ready": True})
            threading.Thread(target=listen, daemon=True).start()
            while True:
                self._since = time.monotonic()
                yield lambda: setattr(self, "_since", time.monotonic()) or not orders.empty()
                order = orders.get()
                if not order:
                    return
                if order.startswith("alone"):
                    yield from self.alone(order)
                else:
                    yield from self.reply(PROMPTS[int(order.split()[1])], dog)

        def alone(self, order: str) -> Iterator[Any]:
            """One in this process and with this model, the window having nothing to do with it."""
            link, found = self.window.link, []
            number = link.run(lambda: alone(link.worker._model, order, args))
            told_by = link.answered.connect(lambda job, value: found.append(value) if job == number else None)
            self._timer.setInterval(100)
            yield lambda: found
            self._timer.setInterval(20)
            link.answered.disconnect(told_by)
            answer(found[0])

        def _mark(self, _turn: Turn) -> None:
            self._marks.append((time.perf_counter(), time.thread_time()))
            if costs is not None:
                if len(self._marks) == 2:
                    print(costs.table(), file=sys.stderr)
                costs.clear()

        def reply(self, prompt: str, dog: Watchdog | None) -> Iterator[Any]:
            """One, from typing to the last picture."""
            w = self.window
            w.actions_["new_chat"].trigger()
            w.settings.set_sampling(SamplingConfig())
            w.settings.set_config(with_settings(w.settings.config, args))
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

    def listen() -> None:
        for line in sys.stdin:
            orders.put(line.strip())
        orders.put("")

    class Driven(MainWindow):
        def start(self) -> None:
            super().start()
            drivers.append(Measure(self, Path(args.data), True))

    costs = EventCosts() if args.events else None
    application = watched_application(costs) if costs is not None else None
    drivers: list[Measure] = []
    app.window.MainWindow = Driven  # type: ignore[misc]
    app.window.run([])
    if not drivers[0].result["done"]:
        raise SystemExit(str(drivers[0].result))
    del application


def add_options(parser: argparse.ArgumentParser) -> None:
    """What both sides and the one who asks understand."""
    parser.add_argument("--new-tokens", type=int, default=150)
    parser.add_argument("--settings", default="", help="topk,depth,length,lookup")
    parser.add_argument("--hide", default="", help="parts of the window, such as show_tree,show_plots")
    parser.add_argument("--watchdog", action="store_true", help="say how long the main thread was blocked")
    parser.add_argument("--events", action="store_true", help="say which events cost the main thread how much")


def main() -> None:
    """Run one side."""
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=("headless", "window"))
    parser.add_argument("--data", default=".")
    add_options(parser)
    args = parser.parse_args()
    (headless if args.kind == "headless" else in_window)(args)


if __name__ == "__main__":
    main()
