"""`measure`: what each precision costs on this machine, and how well it predicts text. Prints a table."""

from __future__ import annotations

import argparse
import zipfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from app.cli.load import find_model, load_model
from app.cli.progress_bar import ProgressBar
from app.engine_api import EngineApi
from engine import ConfigError, EyrieError, Model, Quality, draft_times, quality, target_times

SUMMARY = "measure pass times, loss and agreement with 32 bits for each precision"
EXAMPLES = """examples:
  python main.py measure                                  pass times of the default precision
  python main.py measure --precisions float32,int8-mixed,int8,int8-rowwise --tokens 10000 --text conversations.npz

Times are medians over passes taken in turn; read them as ratios. The text is a UTF-8 file, or an .npz file with token
ids `ids` and offsets `off`. Loss is the mean negative log-likelihood of the next token, in nats; agreement is the
share of positions with the same likeliest token as the first precision of the list."""

ROWS = (1, 2, 4, 8, 16)


def add_flags(parser: argparse.ArgumentParser) -> None:
    """What to measure."""
    parser.add_argument("--model", metavar="NAME", help="a name from the catalog or a model folder")
    parser.add_argument("--precisions", metavar="A,B", default="", help="one or several, the reference first")
    parser.add_argument("--text", metavar="FILE", type=Path, help="text for the loss; without it only times are taken")
    parser.add_argument("--tokens", metavar="N", type=int, default=10_000, help="tokens of it (default: 10000)")
    parser.add_argument("--context", metavar="N", type=int, default=200, help="cached tokens before a pass")


def run(args: argparse.Namespace, engine: EngineApi) -> int:
    """Measure one precision after the other and print a row for each."""
    names = [name.strip() for name in args.precisions.split(",") if name.strip()] or [None]
    reference: Quality | None = None
    print(header())
    for name in names:
        model = load_model(engine, find_model(engine, args.model, name))
        if args.context + max(ROWS) >= model.dims.context_length:
            raise ConfigError(f"--context is {args.context}: {model.name} holds {model.dims.context_length} tokens.")
        times = target_times(model, ROWS, context=args.context)
        drafts = draft_times(model, ROWS[:-1], context=args.context) if model.has_draft else {}
        score = None
        if args.text is not None:
            with ProgressBar() as bar:
                score = quality(model, read_text(args.text, model, args.tokens), progress=bar)
            reference = reference or score
        print(row(model.precision, times, drafts, score, reference), flush=True)
        model.close()
    return 0


def read_text(path: Path, model: Model, limit: int) -> list[list[int]]:
    """Token sequences with at least `limit` tokens together, if the file holds that many."""
    try:
        if path.suffix == ".npz":
            with np.load(path, allow_pickle=False) as data:
                ids, off = data["ids"].astype(np.int64), data["off"].astype(np.int64)
            texts = [ids[a:b].tolist() for a, b in pairwise(off)]
        else:
            texts = [model.tokenizer.encode(path.read_text(encoding="utf-8"))]
    except (OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
        raise EyrieError(f"{path} holds no text to measure on ({type(error).__name__}): give UTF-8 or .npz.") from None
    texts = [t for t in spread(texts, limit) if len(t) > 1 and max(t) < model.dims.vocab_size]
    if not texts:
        raise EyrieError(f"{path} holds no tokens of this model to measure on: give another file.")
    return texts


def spread(texts: list[list[int]], limit: int) -> list[list[int]]:
    """Texts taken evenly from the whole list until `limit` tokens are there; the last one is cut."""
    total = sum(map(len, texts))
    step = max(1, int(total // max(1, limit)))
    out: list[list[int]] = []
    for text in texts[::step]:
        missing = limit - sum(map(len, out))
        if missing < 2:
            break
        out.append(text[:missing])
    return out


def header() -> str:
    """Column titles."""
    passes = "".join(f"{n:>7}" for n in ROWS)
    drafts = "".join(f"{n:>7}" for n in ROWS[:-1])
    return f"ms per pass of rows:{'':4}{passes}   draft:{drafts}   loss    agreement"


def row(name: str, times: dict[int, float], drafts: dict[int, float], score: Any, reference: Any) -> str:
    """One precision's figures."""
    passes = "".join(f"{times[n]:7.1f}" for n in ROWS)
    heads = "".join(f"{drafts[n]:7.2f}" if n in drafts else "      -" for n in ROWS[:-1])
    quality_text = f"{score.loss:7.4f}   {score.agreement(reference):.4f}" if score else "      -        -"
    return f"{name:<24}{passes}         {heads}  {quality_text}"
