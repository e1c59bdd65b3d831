"""Measures what the window costs: the same replies with and without it, alternating.

    python -m tests.app.window_speed [--seconds 75] [--new-tokens 150] [--settings topk,depth,length,lookup]
        [--hide show_tree,show_plots] [--watchdog] [--events] [--pool FILE]

Two processes stay open, each with the default model: the real window on a screen, and a headless one. Per prompt the
window's process answers five times: its engine alone, typed into a new chat, alone, typed, alone. A typed reply is
compared with the mean of the two beside it, so a machine that gets slower or faster cancels out; those two against each
other are the machine's noise. The headless process answers too, to show that "alone" is no slower than headless: two
processes with the same model differ by up to 10 % all their lives, so they say nothing about 5 %.

Prints one JSON object: medians of the paired ratios with quartiles and a 90 % interval of the median (bootstrap),
milliseconds per round, and what the main thread took. `--pool` adds the replies to a file and reports on all in it.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.app.speed_child import add_options
from tests.app.speed_reply import PROMPTS

ORDER = ("headless", "alone", "typed", "alone", "typed", "alone")
NAMES = ("headless", "alone", "typed")
SETTLE = 0.25  # seconds: what a reply leaves to be done must not fall into the next one
RESAMPLES = 2000

Found = dict[str, list[dict[str, Any]]]


class Side:
    """A process that answers prompts."""

    def __init__(self, kind: str, data: Path, options: Sequence[str]) -> None:
        data.mkdir()
        command = [sys.executable, "-m", "tests.app.speed_child", kind, "--data", str(data), *options]
        env = {**os.environ, "EYRIE_DATA": str(data)}
        self._process = subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._line()

    def ask(self, kind: str, prompt: int) -> dict[str, Any]:
        """One reply."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{kind} {prompt}\n")
        self._process.stdin.flush()
        found = self._line()
        time.sleep(SETTLE)
        return found

    def close(self) -> None:
        """End it."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(30)

    def _line(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit("A side ended without an answer; what it said stands above.")
        return dict(json.loads(line))


def spread(ratios: Sequence[float]) -> dict[str, Any]:
    """Median, quartiles, and a 90 % interval of the median."""
    chance = random.Random(1)
    medians = sorted(statistics.median(chance.choices(ratios, k=len(ratios))) for _ in range(RESAMPLES))
    quartiles = statistics.quantiles(ratios, n=4)
    return {
        "median": round(statistics.median(ratios), 3),
        "interval": [round(medians[RESAMPLES // 20], 3), round(medians[-RESAMPLES // 20], 3)],
        "quartiles": [round(quartiles[0], 3), round(quartiles[2], 3)],
        "pairs": len(ratios),
    }


def measure(window: Side, headless: Side, seconds: float) -> Found:
    """Replies by name, in the order they came, until the time is over; the first of each only warms up."""
    found: Found = defaultdict(list)

    def ask(name: str, prompt: int) -> dict[str, Any]:
        side = headless if name == "headless" else window
        return side.ask("typed" if name == "typed" else "alone", prompt)

    for name in NAMES:
        ask(name, 0)
    until, number = time.monotonic() + seconds, 0
    while number < 1 or time.monotonic() < until:
        replies = [(name, ask(name, number % len(PROMPTS))) for name in ORDER]
        if len({reply["text"] for _, reply in replies}) > 1:
            raise SystemExit("The texts differ, so the rates say nothing.")
        for name, reply in replies:
            found[name].append(reply)
        number += 1
    return found


def pooled(found: Found, path: Path) -> Found:
    """These replies and those of earlier runs."""
    runs = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    slim = {name: [{k: v for k, v in r.items() if k != "text"} for r in replies] for name, replies in found.items()}
    with path.open("a") as file:
        file.write(json.dumps(slim) + "\n")
    return {name: [reply for run in [*runs, slim] for reply in run[name]] for name in NAMES}


def report(found: Found) -> dict[str, Any]:
    """The figures."""
    rates = {name: [reply["rate"] for reply in found[name]] for name in NAMES}
    alone = rates["alone"]  # three per prompt: the middle one stands beside both typed ones
    beside = [(alone[n + k], alone[n + k + 1]) for n in range(0, len(alone), 3) for k in (0, 1)]
    usual = [2 / (1 / a + 1 / b) for a, b in beside]
    apart = [statistics.mean(usual[n : n + 2]) for n in range(0, len(usual), 2)]
    result: dict[str, Any] = {
        "typed_to_alone": spread([w / h for w, h in zip(rates["typed"], usual, strict=True)]),
        "alone_to_alone": spread([b / a for a, b in beside]),
        "alone_to_headless": spread([a / h for a, h in zip(apart, rates["headless"], strict=True)]),
        "tokens_per_second": {name: round(statistics.median(values), 1) for name, values in rates.items()},
        "ms_per_round": {
            name: {
                part: round(statistics.median(reply["parts"][part] for reply in found[name]), 2)
                for part in found[name][0]["parts"]
            }
            for name in NAMES
        },
        "main_thread_share": round(statistics.median(reply["share"] for reply in found["typed"]), 3),
    }
    if "block_ms" in found["typed"][0]:
        for key in ("block_ms", "block_cpu_ms"):
            values = [reply[key] for reply in found["typed"]]
            result[key] = {"median": round(statistics.median(values)), "most": round(max(values))}
        result["blocks"] = max(found["typed"], key=lambda reply: reply["block_ms"])["blocks"]
    return result


def main() -> None:
    """Alternate, compare, print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=75, help="to measure, after the start of both")
    parser.add_argument("--pool", type=Path, help="a file with the replies of earlier runs; these are added")
    add_options(parser)
    args = parser.parse_args()
    options = ["--new-tokens", str(args.new_tokens)]
    options += ["--settings", args.settings] if args.settings else []
    options += ["--hide", args.hide] if args.hide else []
    options += ["--watchdog"] if args.watchdog else []
    options += ["--events"] if args.events else []
    with tempfile.TemporaryDirectory() as data:
        headless, window = (Side(kind, Path(data, kind), options) for kind in ("headless", "window"))
        found = measure(window, headless, args.seconds)
        for side in (headless, window):
            side.close()
    print(json.dumps(report(pooled(found, args.pool) if args.pool else found), indent=1))


if __name__ == "__main__":
    main()
