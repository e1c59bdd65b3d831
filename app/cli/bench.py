"""`bench`: measures plain decoding against EAGLE-3 on this machine."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from app.cli import options
from app.cli.bench_json import JsonLines
from app.cli.bench_prompts import BUILT_IN, Prompt, read_prompts
from app.cli.bench_run import Bench, Setting, settings_to_measure
from app.cli.bench_settings import CHAIN, Draft, drafts
from app.cli.bench_stats import Run
from app.cli.bench_table import by_setting, report
from app.cli.interrupt import on_interrupt
from app.cli.load import find_model, load_model
from app.cli.progress_bar import ProgressBar
from app.cli.terminal import harmless, plain_marks
from app.engine_api import EngineApi, LoadedModel
from engine import ConfigError, EngineConfig, Progress

SUMMARY = "measure plain decoding against speculation in one interleaved run"
EXAMPLES = """examples:
  python main.py bench
  python main.py bench --settings "1,3,3; 2,4,6; 4,5,10" --by-category
  python main.py bench --settings "4,5,10; mtp 3; lookahead 8; lookahead 4,8" --by-category
  python main.py bench --settings "4,5,10; 4,5,10 inexact; 4,5,16,2 from 0.1; 4,5,16,2 merge"
  python main.py bench --prompts prompts.jsonl --limit 10 --json figures.jsonl

A setting followed by "inexact" is not held to the text of plain decoding: measured beside its exact twin it shows what
exactness costs. Every prompt is answered under every setting before the next one comes, in an order that turns, so that
a machine that slows down does so for all alike. Close other programs first: the settings share the processor with them.
"""


def add_flags(parser: argparse.ArgumentParser) -> None:
    """What to measure."""
    parser.add_argument(
        "--prompts",
        type=Path,
        metavar="FILE",
        help='JSON Lines: {"prompt": ...} or {"turns": [...]} (default: our own)',
    )
    parser.add_argument("--limit", type=_positive, metavar="N", help="only N prompts, spread over the file")
    parser.add_argument("--new-tokens", type=options.number("max_new_tokens", int), default=200, metavar="N",
                        help="longest reply, in tokens (default: 200)")  # fmt: skip
    parser.add_argument(
        "--settings", type=drafts, metavar="LIST",
        help="separated by semicolons: topk,depth,draft-length[,lookup] for eagle; mtp draft-length; lookahead "
        '[topk,]draft-length; each may end in "from 0.1" (draft_min_probability), "merge" (eagle_merge) and "inexact" '
        "(default: the model's own and the chain 1,3,3)",
    )  # fmt: skip
    parser.add_argument("--repeat", type=_positive, default=1, metavar="N", help="measure everything N times")
    parser.add_argument("--by-category", action="store_true", help="also a table by the prompts' category")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every figure as JSON Lines")
    options.add_model_flags(parser)
    options.add_lookup_flags(parser)
    options.add_sampling_flags(parser)


def _positive(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 up")
    return int(text)


def run(args: argparse.Namespace, engine: EngineApi) -> int:
    """Measure, print the tables."""
    prompts = choose(read_prompts(args.prompts) if args.prompts else list(BUILT_IN), args.limit)
    sampling = options.sampling_config(args)
    json_file = JsonLines(args.json) if args.json else None
    try:
        model = load_model(engine, find_model(engine, args.model, args.precision))
        try:
            config = options.engine_config(args, model.defaults).with_(max_new_tokens=args.new_tokens)
            settings = settings_for(args.settings, model, config)
            if json_file:
                json_file.machine(model, settings, sampling)
            return _measure(Bench(engine, model, settings, sampling), settings, prompts, args, json_file)
        finally:
            model.close()
    finally:
        if json_file:
            json_file.close()


def choose(prompts: list[Prompt], limit: int | None) -> list[Prompt]:
    """At most `limit` prompts, evenly spread so that every category has a share."""
    count = min(limit or len(prompts), len(prompts))
    return [prompts[i * len(prompts) // count] for i in range(count)]


def settings_for(asked: list[Draft] | None, model: LoadedModel, config: EngineConfig) -> list[Setting]:
    """Plain decoding, and speculation as asked; the model's own tree and a chain if nothing was."""
    shape = config.eagle_topk, config.eagle_depth, config.draft_predict_length
    own = Draft("eagle", *shape, config.eagle_lookup, config.draft_min_probability, config.eagle_merge, config.exact)
    wanted = asked if asked is not None else [CHAIN, own] if model.has_draft else []
    if not model.has_draft and any(strategy == "eagle" for strategy, *_ in wanted):
        raise ConfigError(f"{model.name} has no draft head, so there are no eagle settings to measure.")
    return settings_to_measure(list(dict.fromkeys(wanted)), config)


def _measure(
    bench: Bench, settings: list[Setting], prompts: list[Prompt], args: argparse.Namespace, json_file: JsonLines | None
) -> int:
    runs: list[Run] = []
    total = len(prompts) * len(settings) * args.repeat
    with ProgressBar() as bar, on_interrupt(bench.stop) as pressed:
        for group in bench.run(prompts, args.repeat, _ticker(bar, total)):
            runs += group
            if json_file:
                json_file.group(group)
    if pressed:
        print(f"Interrupted: {len(runs)} of {total} turns were measured.", file=sys.stderr)
    if runs:
        grouped = by_setting(runs, [s.name for s in settings])
        if json_file:
            json_file.summary(grouped)
        print(plain_marks(harmless(report(grouped, by_category=args.by_category)), sys.stdout))
    return 130 if pressed else 0


def _ticker(bar: ProgressBar, total: int) -> Callable[[], None]:
    done = 0

    def ticked() -> None:
        nonlocal done
        done += 1
        bar(Progress("Measuring", done, total))

    bar(Progress("Measuring", 0, total))
    return ticked
