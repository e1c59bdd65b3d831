"""`train`: makes a draft head for a model, with nothing but the model."""

from __future__ import annotations

import argparse
import sys
import threading
from pathlib import Path
from typing import Any

from app.cli.interrupt import on_interrupt
from app.cli.load import find_model
from app.cli.progress_bar import ProgressBar
from app.engine_api import EngineApi
from engine import Cancelled, ConfigError, TrainingRequest, export_data, train_head, training_folder

SUMMARY = "make a draft head for a model (needs PyTorch: the train extra)"
EXAMPLES = """examples:
  python main.py train
  python main.py train MODEL_FOLDER --hours 6
  python main.py train MODEL_FOLDER --data text.npz --init HEAD_FOLDER --hours 2 --unroll 5
  python main.py train MODEL_FOLDER --type mtp --hours 1
  python main.py train MODEL_FOLDER --export-data text.jsonl

What happens: the model writes text (a million tokens, or what --tokens says), unless --data gives some. A draft head
is made of the model's last layer and trained to foresee what the model says about that text, one token ahead at
first, then over its own guesses. Held-out conversations tell how good it is: "chain τ" is the number of tokens that a
pass of the model should give with a chain of three drafts; plain decoding gives 1. The best head so far is always on
the disk.

Press Ctrl+C at any time: everything is saved, and the same command continues where it stopped. More text and more
varied text help most; then hours. --init continues a head that exists, in far less time than a new one takes. To use
the result: python main.py chat --model OUT. On a cluster: docs/training.md."""

DEFAULT_HOURS = 2.0
_PLAN_FLAGS: dict[str, tuple[type, str]] = {
    "steps": (int, "updates of the weights, instead of --hours"),
    "batch_tokens": (int, "tokens per update (default: 4096)"),
    "unroll": (int, "steps that the draft is unrolled over its own guesses in the end (default: 3; up to 7)"),
    "unroll_from": (int, "the same at the beginning (default: 1)"),
    "step_weight": (float, "how much each further step counts of the one before it (default: 0.8)"),
    "learning_rate": (float, "largest step size (default: 6e-4 for a new head, 3e-4 with --init)"),
    "held_out": (float, "share of the conversations kept for validation (default: 0.03)"),
    "held_out_from": (int, "first conversation that may be kept, for a head that was trained on those before it"),
    "evaluations": (int, "how often the head is validated (default: 20)"),
    "patience": (int, "stop after so many validations without a better one (default: 6)"),
    "ema": (float, "memory of the averaged weights, which are what is kept (default: 0.995)"),
    "seed": (int, "order of the conversations (default: 0)"),
}


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Model, data, time, places, and everything else with a sensible default."""
    parser.add_argument(
        "model",
        nargs="?",
        metavar="MODEL_FOLDER",
        help="a model folder or a name from the catalog (default: its model)",
    )
    _text_flags(parser.add_argument_group("text"))
    run = parser.add_argument_group("training")
    run.add_argument("--type", choices=("eagle3", "mtp"), default="eagle3", help="kind of head (default: eagle3)")
    run.add_argument(
        "--hours", type=float, metavar="H", help=f"time for training; text comes on top (default: {DEFAULT_HOURS:g})"
    )
    run.add_argument("--init", type=Path, metavar="HEAD", help="continue this head, a folder in the public format")
    run.add_argument(
        "--draft-vocab", type=int, metavar="N", help="tokens that the head knows (default: 8192, or the --init head's)"
    )
    run.add_argument("--mlp-width", type=int, metavar="N", help="units of the head's MLP (default: the model's)")
    run.add_argument("--max-length", type=int, default=2048, metavar="N", help="longest conversation (default: 2048)")
    for name, (kind, about) in _PLAN_FLAGS.items():
        run.add_argument(f"--{name.replace('_', '-')}", type=kind, metavar="N" if kind is int else "X", help=about)
    _machine_flags(parser.add_argument_group("machine and places"))


def _text_flags(group: Any) -> None:
    group.add_argument("--data", type=Path, nargs="+", default=[], metavar="FILE", help="conversations (.npz)")
    group.add_argument(
        "--tokens",
        type=int,
        metavar="N",
        help="text that the model writes (default: 1000000 without --data, else none)",
    )
    group.add_argument("--prompts", type=Path, metavar="FILE", help="a part of it answers these prompts, one a line")
    group.add_argument(
        "--prompts-share", type=float, default=0.25, metavar="X", help="share of conversations that do (default: 0.25)"
    )
    group.add_argument(
        "--text-length", type=int, default=1024, metavar="N", help="longest conversation written (default: 1024)"
    )
    group.add_argument("--batch", type=int, default=64, metavar="N", help="conversations written at once (default: 64)")
    group.add_argument("--export-data", type=Path, metavar="FILE", help="write the text for SpecForge and stop there")


def _machine_flags(group: Any) -> None:
    group.add_argument("--work", type=Path, metavar="DIR", help="text, hidden states, checkpoints (default: the cache)")
    group.add_argument("--out", type=Path, metavar="DIR", help="the model with its head (default: WORK/model)")
    group.add_argument("--fresh", action="store_true", help="discard the training run in the work folder; text stays")
    group.add_argument("--device", default="auto", metavar="NAME", help="auto, cpu or cuda (default: auto)")
    group.add_argument("--compute", default="auto", metavar="NAME", help="auto, bfloat16 or float32 (default: auto)")
    group.add_argument("--threads", type=int, metavar="N", help="processor threads (default: all cores)")
    group.add_argument(
        "--recompute",
        action=argparse.BooleanOptionalAction,
        help="do not store hidden states (4.6 kB per token of the default model) but compute them for every "
        "batch (default: on a GPU)",
    )
    group.add_argument(
        "--checkpoint-minutes", type=float, default=5.0, metavar="M", help="time between saved states (default: 5)"
    )


def run(args: argparse.Namespace, engine: EngineApi) -> int:
    """Train, or continue to; 130 after Ctrl+C."""
    request = make_request(args, find_model(engine, args.model, None))
    cancel = threading.Event()
    with ProgressBar() as bar, on_interrupt(cancel.set) as pressed:
        say = bar.say
        try:
            if args.export_data is not None:
                count = export_data(request, args.export_data, progress=bar, say=say, cancel=cancel)
                say(f"{count} conversations are in {args.export_data}.")
                return 0
            found = train_head(request, progress=bar, say=say, cancel=cancel)
        except Cancelled:
            if not pressed:
                raise
            bar.close(finished=False)
            print("Stopped; everything is saved, and the same command continues.", file=sys.stderr)
            return 130
    print(f"Head: {found.head} (chain τ {found.tau:.2f} on held-out text)")
    print(f"Model with the head: {found.model}; try it with 'python main.py chat --model {found.model}'")
    return 0


def make_request(args: argparse.Namespace, model: Path) -> TrainingRequest:
    """What the flags ask for."""
    plan: dict[str, Any] = {name: getattr(args, name) for name in _PLAN_FLAGS if getattr(args, name) is not None}
    plan["kind"] = args.type
    if args.init is not None:
        plan.setdefault("learning_rate", 3e-4)
    if args.hours is not None and "steps" in plan:
        raise ConfigError("--hours and --steps are both given: give one of them.")
    return TrainingRequest(
        model=model,
        work=args.work or training_folder(model),
        data=tuple(args.data),
        tokens=args.tokens,
        prompts=args.prompts,
        prompts_share=args.prompts_share,
        text_length=args.text_length,
        batch=args.batch,
        init=args.init,
        out=args.out,
        hours=DEFAULT_HOURS if args.hours is None and "steps" not in plan else args.hours,
        plan=plan,
        draft_vocab=args.draft_vocab,
        mlp_width=args.mlp_width,
        max_length=args.max_length,
        device=args.device,
        compute=args.compute,
        threads=args.threads,
        recompute=args.recompute,
        checkpoint_minutes=args.checkpoint_minutes,
        fresh=args.fresh,
    )
