"""`replay`: opens the record of a turn in the window, or prints it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from app.cli.reply import ReplyPrinter, Style
from app.cli.terminal import wants_color
from app.cli.window import open_window
from app.engine_api import EngineApi
from engine import Turn

SUMMARY = "open a recorded turn (a file that --trace wrote)"
EXAMPLES = """examples:
  python main.py replay trace.json
  python main.py replay trace.json --text
  python main.py replay trace.json --show-tree --show-pruned

No model is needed to look at a recording."""


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Which file, and how to show it."""
    parser.add_argument("file", type=Path, metavar="FILE", help="trace written by chat --trace or by the window")
    parser.add_argument("--text", action="store_true", help="print it instead of opening the window")
    parser.add_argument("--show-tree", action="store_true", help="print every round's tree")
    parser.add_argument("--show-pruned", action="store_true", help="with --show-tree: also what was never verified")
    parser.add_argument("--color", choices=("auto", "always", "never"), default="auto", help="as in chat")


def run(args: argparse.Namespace, engine: EngineApi) -> int:
    """Read the file first, so that a broken one is one sentence in the terminal."""
    turn: Turn = engine.load_trace(args.file)
    if not (args.text or args.show_tree):
        return open_window(["replay", str(args.file)])
    style = Style(wants_color(args.color, sys.stdout), args.show_tree, args.show_pruned)
    printer = ReplyPrinter(style, sys.stdout, sys.stderr)
    for event in (turn.start, turn.prefill, *turn.rounds, turn.end):
        if event is not None:
            printer.show(event)
    printer.finish()
    return 0
