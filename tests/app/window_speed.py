"""Measures what the window costs: the same replies headless and in the real window on a screen, alternating.

    python -m tests.app.window_speed [--pairs 3] [--new-tokens 150] [--settings topk,depth,length,lookup] [--profile]

Each run is a process of its own, with the default model. Tokens per second are those of the engine's own clock, from
the first round to the end of the turn, so that everything between two rounds counts. Prints one JSON object: per prompt
the median rate of both and their ratio, and how much of a processor the window's thread took.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import onnxruntime  # noqa: F401  (before Qt, as main.py does)

from app.cli.bench_prompts import BUILT_IN
from engine import EngineConfig, SamplingConfig, Turn

PROMPTS = [BUILT_IN[i].text for i in (0, 2, 4, 6, 8)]
PARTS = ("draft", "verify", "commit", "host")
PATIENCE = 300.0


def rate(turn: Turn) -> float:
    """Tokens per second from the first round to the end."""
    assert turn.end is not None
    return 1000 * sum(len(r.emitted) for r in turn.rounds) / (turn.end.total_ms - turn.rounds[0].timings.start)


def parts(turn: Turn) -> dict[str, float]:
    """Milliseconds per round: what it was spent on, and between two rounds."""
    count = len(turn.rounds)
    sums = {part: sum(getattr(r.timings, part) for r in turn.rounds) / count for part in PARTS}
    whole = (turn.end.total_ms - turn.rounds[0].timings.start) / count  # type: ignore[union-attr]
    return {**sums, "between": whole - sum(sums.values())}


def with_settings(config: EngineConfig, args: argparse.Namespace) -> EngineConfig:
    """The model's own settings, or those asked for."""
    changes: dict[str, Any] = {"max_new_tokens": args.new_tokens}
    if args.settings:
        keys = ("eagle_topk", "eagle_depth", "draft_predict_length", "eagle_lookup")
        changes |= dict(zip(keys, map(int, args.settings.split(",")), strict=True))
    return config.with_(**changes)


def headless(args: argparse.Namespace) -> dict[str, Any]:
    """All prompts, without a window."""
    from engine import ChatSession, Model, ensure_model

    model = Model.load(ensure_model())
    rates, texts, spent = [], [], []
    for number, prompt in enumerate([PROMPTS[0], *PROMPTS]):  # the first one warms up
        session = ChatSession(model, with_settings(model.defaults, args))
        turn = Turn()
        for event in session.generate([{"role": "user", "content": prompt}], SamplingConfig()):
            turn.add(event)
        if number:
            rates.append(rate(turn))
            texts.append(turn.text)
            spent.append(parts(turn))
    model.close()
    return {"rates": rates, "texts": texts, "parts": spent}


def in_window(args: argparse.Namespace) -> dict[str, Any]:
    """All prompts, each in a new chat of the real window."""
    import app.window
    from app.main_window import MainWindow
    from tests.app.real_window import Driver

    class Measure(Driver):
        """Types every prompt and waits."""

        def scenario(self) -> Iterator[Any]:
            w = self.window
            rates, texts, spent, shares, profiler = [], [], [], [], None
            yield lambda: w.models.state != "starting"
            yield lambda: w.models.state == "ready" and w.panels.pane.chat > 0 and self.idle()
            for name in filter(None, args.hide.split(",")):
                w.panels.set_shown(name, False)
            for number, prompt in enumerate([PROMPTS[0], *PROMPTS]):
                w.actions_["new_chat"].trigger()
                w.settings.set_sampling(SamplingConfig())
                w.settings.set_config(with_settings(w.settings.config, args))
                self.type(prompt)
                yield lambda: w.selection.count >= 1
                self._timer.setInterval(200)
                if args.profile and number == 1:
                    import cProfile

                    profiler = cProfile.Profile(time.thread_time)
                    profiler.enable()
                began, used, rounds = time.perf_counter(), time.thread_time(), w.selection.count
                yield self.idle
                self._timer.setInterval(20)
                share = (time.thread_time() - used) / (time.perf_counter() - began)
                if profiler is not None:
                    profiler.disable()
                    profiler.dump_stats(args.profile)
                    profiler = None
                yield lambda: w.selection.turn is not None and w.selection.turn.end is not None
                if number:
                    rates.append(rate(w.selection.turn))
                    texts.append(w.selection.turn.text)
                    spent.append(parts(w.selection.turn))
                    shares.append(share)
                assert w.selection.count > rounds
            self.result |= {"rates": rates, "texts": texts, "parts": spent, "shares": shares}

    drivers: list[Measure] = []

    class Driven(MainWindow):
        def start(self) -> None:
            super().start()
            drivers.append(Measure(self, Path(args.data), True))

    app.window.MainWindow = Driven  # type: ignore[misc]
    app.window.run([])
    return drivers[0].result


def child(kind: str, args: argparse.Namespace) -> dict[str, Any]:
    """One run in a process of its own."""
    with tempfile.TemporaryDirectory() as data:
        command = [sys.executable, "-m", "tests.app.window_speed", "--child", kind, "--data", data]
        command += ["--new-tokens", str(args.new_tokens)]
        command += ["--settings", args.settings] if args.settings else []
        command += ["--hide", args.hide] if args.hide else []
        command += ["--profile", args.profile] if args.profile else []
        env = {**os.environ, "EYRIE_DATA": data}
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=PATIENCE, check=False)
    if done.returncode:
        raise SystemExit(f"the {kind} run failed:\n{done.stdout}\n{done.stderr}")
    return dict(json.loads(done.stdout.splitlines()[-1]))


def main() -> None:
    """Alternate, compare, print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--new-tokens", type=int, default=150)
    parser.add_argument("--settings", default="")
    parser.add_argument("--hide", default="", help="parts of the window, such as show_tree,show_plots")
    parser.add_argument("--profile", default="", metavar="FILE")
    parser.add_argument("--child", choices=("headless", "window"))
    parser.add_argument("--data", default="")
    args = parser.parse_args()
    if args.child:
        print(json.dumps((headless if args.child == "headless" else in_window)(args)))
        return
    runs: dict[str, list[list[float]]] = {"headless": [], "window": []}
    shares: list[float] = []
    texts: list[list[str]] = []
    spent: dict[str, list[dict[str, float]]] = {"headless": [], "window": []}
    for number in range(args.pairs):
        for kind in ("headless", "window") if number % 2 == 0 else ("window", "headless"):
            found = child(kind, args)
            runs[kind].append(found["rates"])
            texts.append(found["texts"])
            spent[kind] += found["parts"]
            shares += found.get("shares", [])
    if len({json.dumps(found) for found in texts}) > 1:
        raise SystemExit("The texts differ, so the rates say nothing.")
    medians = {kind: [statistics.median(column) for column in zip(*rows, strict=True)] for kind, rows in runs.items()}
    ratios = [w / h for w, h in zip(medians["window"], medians["headless"], strict=True)]
    print(
        json.dumps(
            {
                "tokens_per_second": {kind: [round(v, 1) for v in values] for kind, values in medians.items()},
                "ratios": [round(r, 3) for r in ratios],
                "median_ratio": round(statistics.median(ratios), 3),
                "ms_per_round": {
                    kind: {part: round(statistics.mean(each[part] for each in found), 2) for part in found[0]}
                    for kind, found in spent.items()
                },
                "window_thread_share": round(statistics.median(shares), 3),
            }
        )
    )


if __name__ == "__main__":
    main()
