"""What `window_speed` measures: a process that answers prompts on command, headless or with the real window.

    python -m tests.app.speed_child headless|window [--settings …] [--new-tokens N] [--hide …] [--watchdog] [--events]

Reads "KIND NUMBER" per line, answers that prompt, writes one JSON object; ends when its input does. KIND "typed": into
a new chat of the window; "alone": by the engine's thread with a session of its own, nothing kept, nothing shown. Rates
are those of the engine's own clock, from the first round to the end of the turn, so that everything between two rounds
counts.
"""

from __future__ import annotations

import argparse
import sys

import onnxruntime  # noqa: F401  (before Qt, as main.py does)

from engine import Model, ensure_model
from tests.app.speed_reply import alone, answer


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
    from tests.app.event_costs import EventCosts, watched_application
    from tests.app.speed_window import Measure

    class Driven(MainWindow):
        def start(self) -> None:
            super().start()
            drivers.append(Measure(self, args, costs))

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
