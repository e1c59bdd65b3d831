"""Holds the replies of many draft trees against plain decoding with two rows per pass: hours of runs, resumable.

    python -m tests.exact_grid PROMPTS_FILE --precision int8 --out FILE.jsonl [--new-tokens 200] [--temperature 0,0.8]

Every run adds a line to the file, and what is in the file is not run again. Prompts take turns by category, and each is
answered in every way before the next one comes, so a part of the grid is a fair sample of it. Exit code 1 if any reply
differs. With `--reuse` one session answers a prompt in every way, so each reply but the first stands on rows of the
prompt that another setting left in the cache: quicker, and prefix reuse is tried as well.
Knows the engine by its front door alone; settings are written as for `bench`.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from app.cli.bench import choose
from app.cli.bench_prompts import Prompt, read_prompts
from app.cli.bench_run import PLAIN_TWO, Setting, settings_to_measure
from app.cli.bench_settings import Draft, drafts
from engine import ChatSession, EyrieError, Model, SamplingConfig, Turn, ensure_model, tree_pool
from tests.exact_grid_file import ResultFile, summary

TOPK, DEPTH, LENGTH = (1, 2, 4, 8), (3, 5), (4, 8, 16)
OTHERS = "lookahead 4,8; 2,2,3,2"


def grid() -> list[Draft]:
    """Every different tree of the grid, then lookahead, and a tree with copying."""
    trees: dict[tuple[int, int, int], Draft] = {}
    for topk, depth, length in itertools.product(TOPK, DEPTH, LENGTH):
        nodes = min(length, tree_pool(topk, depth))
        trees.setdefault((topk, depth, nodes), Draft("eagle", topk, depth, nodes))
    return [*trees.values(), *drafts(OTHERS)]


def by_turns(prompts: Iterable[Prompt]) -> list[Prompt]:
    """The first prompt of each category, then the second of each, and so on."""
    rows: dict[str, list[Prompt]] = {}
    for prompt in prompts:
        rows.setdefault(prompt.category, []).append(prompt)
    return [p for column in itertools.zip_longest(*rows.values()) for p in column if p is not None]


def reply(session: ChatSession, setting: Setting, sampling: SamplingConfig, prompt: Prompt) -> Turn:
    """One turn, with the session's cached rows if it answered this prompt before."""
    session.config = setting.config
    turn = Turn()
    for event in session.generate([{"role": "user", "content": prompt.text}], sampling):
        turn.add(event)
    return turn


def figures(turn: Turn) -> dict[str, Any]:
    """What a line says of a turn besides its text."""
    stats = turn.stats()
    return {
        "reused": turn.start.reused_tokens if turn.start else 0,
        "rounds": stats.rounds,
        "emitted": stats.emitted,
        "replayed": sum(len(r.replayed) for r in turn.rounds),
        "provisional": sum(len(r.provisional) for r in turn.rounds),
        "corrected": sum(r.corrected for r in turn.rounds),
        "ms": round(turn.end.total_ms) if turn.end else 0,
    }


def first_difference(ids: Sequence[int], reference: Sequence[int]) -> int | None:
    """Index of the first token that is not the reference's; None when all are."""
    pairs = enumerate(itertools.zip_longest(ids, reference))
    return next((i for i, (ours, theirs) in pairs if ours != theirs), None)


def run(
    model: Model, settings: Sequence[Setting], samplings: Sequence[SamplingConfig], prompts: Iterable[Prompt],
    results: ResultFile, *, reuse: bool = False,
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """Do what is not in the file yet; yields each new line. The first setting is the reference."""
    for prompt, sampling in itertools.product(prompts, samplings):
        session = ChatSession(model)
        reference: list[int] = []
        for setting in settings:
            key = {
                "model": model.name,
                "precision": model.precision,
                "prompt": prompt.id,
                "setting": setting.name,
                "temperature": sampling.temperature,
                "seed": sampling.seed,
                "new_tokens": setting.config.max_new_tokens,
            }
            known = results.find(key)
            if known is None:
                session = session if reuse else ChatSession(model)
                turn = reply(session, setting, sampling, prompt)
                ids = [t.id for t in turn.tokens]
                known = {**key, "category": prompt.category, **figures(turn)}
                if setting is settings[0]:
                    known |= {"same": None, "first_difference": None, "ids": ids}
                else:
                    at = first_difference(ids, reference)
                    known |= {"same": at is None, "first_difference": at}
                    known |= {} if at is None else {"ids": ids}
                results.add(known)
                yield known
            if setting is settings[0]:
                reference = known["ids"]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.exact_grid", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("prompts", type=Path, metavar="PROMPTS_FILE")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="JSON Lines; continued if it is there")
    parser.add_argument("--precision", metavar="NAME", help="default: the model's own")
    parser.add_argument("--model", type=Path, metavar="FOLDER", help="a model folder (default: the default model)")
    parser.add_argument("--new-tokens", type=int, default=200, metavar="N")
    parser.add_argument("--limit", type=int, metavar="N", help="only N prompts, spread over the file")
    parser.add_argument("--settings", type=drafts, metavar="LIST", help="as for bench (default: the whole grid)")
    parser.add_argument("--temperature", default="0,0.8", metavar="LIST")
    parser.add_argument("--seed", type=int, default=7, metavar="N")
    parser.add_argument("--reuse", action="store_true", help="one session per prompt, so that prefixes are reused")
    parser.add_argument("--threads", type=int, metavar="N", help="default: as many as the engine takes")
    parser.add_argument("--summary-only", action="store_true", help="run nothing, print what the file holds")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run and print; the exit code."""
    args = _parser().parse_args(argv)
    try:
        with ResultFile(args.out) as results:
            if not args.summary_only:
                _measure(args, results)
            text, differing = summary(results.lines)
    except EyrieError as error:
        print(error, file=sys.stderr)
        return 2
    print(text)
    return 1 if differing else 0


def _measure(args: argparse.Namespace, results: ResultFile) -> None:
    """Load the model and fill the file; Ctrl+C ends it early."""
    prompts = by_turns(choose(read_prompts(args.prompts), args.limit))
    samplings = [SamplingConfig(temperature=float(t), seed=args.seed) for t in args.temperature.split(",")]
    folder = args.model or ensure_model(precision=args.precision)
    model = Model.load(folder, threads=args.threads)
    try:
        base = model.defaults.with_(max_new_tokens=args.new_tokens, ngram_update=True)
        settings = settings_to_measure(args.settings or grid(), base)
        settings = settings[[s.name for s in settings].index(PLAIN_TWO) :]
        total = len(prompts) * len(samplings) * len(settings)
        lines = run(model, settings, samplings, prompts, results, reuse=args.reuse)
        for count, line in enumerate(lines, 1):
            verdict = {None: "reference", True: "same", False: f"DIFFERS at {line['first_difference']}"}[line["same"]]
            where = f"prompt {line['prompt']}, temperature {line['temperature']:g}, {line['setting']}"
            print(f"{count} of at most {total}: {where}: {verdict}, {line['ms'] / 1000:.1f} s", flush=True)
    except KeyboardInterrupt:
        print("Interrupted; start it again to go on.", file=sys.stderr)
    finally:
        model.close()


if __name__ == "__main__":
    sys.exit(main())
