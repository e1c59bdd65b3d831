"""Measures how long each thing a user may do holds the main thread while a reply streams, in the real window.

    python -m tests.app.block_tour [--real] [--only WORDS] [--part 1/4] [--profile WORD] [--stacks] [--events]

A folder with hundreds of chats is made, the window opened, and a reply streamed all the time: a recorded one at 20 ms a
round, or with `--real` the default model's. Then every action of `tour_actions` that has one of WORDS in its name. One
line for each: the longest time between two turns of the event loop, wall, and what of it the main thread computed
itself. `--profile` tells which calls all of an action went to, `--events` which events took longest.
"""

from __future__ import annotations

import argparse
import cProfile
import io
import os
import pstats
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import onnxruntime  # noqa: F401  (before Qt, as main.py does)
from PySide6.QtWidgets import QApplication

import app.window
from app.main_window import MainWindow
from app.watchdog import LIMIT_MS, Watchdog
from tests.app.event_costs import EventCosts, watched_application
from tests.app.real_window import Driver, Wait
from tests.app.tour import Action, Tour
from tests.app.tour_actions import ACTIONS
from tests.app.tour_chat import begin
from tests.app.tour_folder import fill, streamed
from tests.fake_engine import FakeEngine

ROUNDS = 480  # of the reply that streams
BEGUN, LAST = 12, 300  # an action begins between these rounds
SETTLE = 1.0  # seconds: what an action leaves to be done later is its own


class TourDriver(Driver):
    """Goes through the actions."""

    options: argparse.Namespace
    ids: dict[str, int]
    costs: EventCosts | None

    def scenario(self) -> Iterator[Wait]:
        """All of them."""
        w = self.window
        self.tour = Tour(w, self.out, self.ids)
        self._timer.setInterval(50)
        print(f"{'longest block of the main thread, ms':60} wall   own")
        yield from self.measure(Action("the first seconds, a prompt sent as soon as one can be", begin, ""))
        for action in chosen(self.options):
            yield from self.measure(action)

    def measure(self, action: Action) -> Iterator[Wait]:
        """One."""
        tour, options = self.tour, self.options
        if action.prepare is not None:
            yield from action.prepare(tour)
        if action.chat:
            yield from self.streaming(action.chat)
        dog, profile = Watchdog(self), cProfile.Profile(time.thread_time)
        watched = bool(options.profile) and options.profile in action.name
        if action.chat:
            yield from tour.pause(0.3)
        dog.start()
        if self.costs is not None:
            self.costs.clear()
        if watched:
            profile.enable()
        yield from action.do(tour)
        yield from tour.pause(SETTLE)
        if watched:
            profile.disable()
        dog.stop()
        mark = " <<" if dog.longest_cpu_ms > LIMIT_MS else " <" if dog.longest_ms > LIMIT_MS else ""
        ended = " (the reply ended meanwhile)" if action.chat and not self.window.turns.running else ""
        print(f"{action.name:60} {dog.longest_ms:4.0f}  {dog.longest_cpu_ms:4.0f}{mark}{ended}", flush=True)
        if options.stacks and dog.blocks:
            print(dog.report())
        if self.costs is not None:
            for cpu, wall, since, name, event in sorted(self.costs.longest, reverse=True)[:6]:
                print(f"    {cpu:4.0f} own {wall:4.0f} wall at {since:5.0f}: {event} of {name}")
        if watched:
            told = io.StringIO()
            pstats.Stats(profile, stream=told).sort_stats("cumulative").print_stats(70)
            print(told.getvalue())

    def streaming(self, chat: str) -> Iterator[Wait]:
        """A reply runs in this chat, and it is in view."""
        w, wanted = self.window, self.ids[chat]
        if w.panels.pane.chat != wanted or w.panels.page is not w.panels.pane:
            w.panels.chats.select(wanted)
            w.pages.open_chat(wanted)
        request = w.turns.request
        right = request is not None and request.chat == wanted
        if not right or w.turns.turn is None or not BEGUN <= len(w.turns.turn.rounds) <= LAST:
            if w.turns.running and not (right and w.turns.turn and len(w.turns.turn.rounds) < BEGUN):
                w.turns.stop()
                yield self.idle
            while not (w.turns.running and self.begun()):
                if self.idle():  # the last one may have been short
                    w.panels.pane.send("Count to a thousand, in words, and tell a story about each number.")
                yield lambda: self.idle() or self.begun()

    def begun(self) -> bool:
        """Whether the reply has enough rounds to be looked at."""
        turn = self.window.turns.turn
        return turn is not None and len(turn.rounds) >= BEGUN


def chosen(options: argparse.Namespace) -> list[Action]:
    """The actions asked for."""
    words, (part, parts) = options.only.split(","), map(int, options.part.split("/"))
    found = [action for action in ACTIONS if any(word in action.name for word in words)]
    return found[len(found) * (part - 1) // parts : len(found) * part // parts]


def main() -> int:
    """Make the folder, run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--real", action="store_true", help="the default model instead of a recording")
    parser.add_argument("--only", default="", help="actions whose name holds one of these words, by commas")
    parser.add_argument("--part", default="1/1", help="2/4: the second quarter of them")
    parser.add_argument("--profile", default="", help="say where the time of such actions went")
    parser.add_argument("--stacks", action="store_true", help="say where the main thread was in long blocks")
    parser.add_argument("--events", action="store_true", help="say which events took longest")
    options = parser.parse_args()
    TourDriver.costs = EventCosts() if options.events else None
    application = watched_application(TourDriver.costs) if TourDriver.costs is not None else None
    drivers: list[TourDriver] = []
    engine = FakeEngine([streamed(ROUNDS)], speed=1.0, load_seconds=0.1)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["EYRIE_DATA"] = str(Path(folder, "data"))
        TourDriver.options, TourDriver.ids = options, fill(Path(folder, "data"))

        class Driven(MainWindow):
            def start(self) -> None:
                super().start()
                drivers.append(TourDriver(self, Path(folder), options.real))

        app.window.MainWindow = Driven  # type: ignore[misc]
        code = app.window.run([]) if options.real else app.window.run([], load_engine=lambda: engine)
    result = drivers[0].result
    print(f"{QApplication.platformName()}, {'the default model' if options.real else 'a recording'} streaming.")
    if not result["done"]:
        print(result.get("error", "It did not end."), file=sys.stderr)
    del application
    return code if result["done"] else 1


if __name__ == "__main__":
    sys.exit(main())
