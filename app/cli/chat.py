"""`chat`: one reply with --prompt, a conversation without."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from app.cli import options
from app.cli.load import find_model, load_model
from app.cli.repl import history, lines
from app.cli.reply import Style, print_reply
from app.cli.terminal import wants_color
from app.engine_api import EngineApi, Session
from app.seed import with_new_seed
from engine import ConfigError, EyrieError, SamplingConfig, Turn

SUMMARY = "chat in the terminal, or print one reply"
EXAMPLES = """examples:
  python main.py chat
  python main.py chat --prompt "Why is the sky blue?"
  python main.py chat --prompt "Count to ten." --show-tree --topk 4 --depth 5 --draft-length 10
  python main.py chat --prompt "Write a haiku." --temperature 0.8 --seed 7 --trace haiku.json
  echo "Translate: good morning" | python main.py chat --strategy plain

In a conversation, /help lists the commands; Ctrl+C stops a reply, Ctrl+D leaves."""
HELP = """/reset   forget the conversation
/exit    leave (or Ctrl+D)
/help    this list
Ctrl+C stops a reply; twice, it leaves."""


def add_flags(parser: argparse.ArgumentParser) -> None:
    """What can be set."""
    parser.add_argument("--prompt", metavar="TEXT", help="answer this and leave; - reads it from standard input")
    parser.add_argument("--system", metavar="TEXT", help="what the model is told before the conversation")
    options.add_model_flags(parser)
    options.add_decoding_flags(parser)
    options.add_sampling_flags(parser, chat=True)
    parser.add_argument("--stop", action="append", metavar="TEXT", help="end the reply before this text; repeatable")
    shown = parser.add_argument_group("what is shown")
    shown.add_argument("--show-tree", action="store_true", help="print every round's draft tree instead of the stream")
    shown.add_argument("--show-pruned", action="store_true", help="with --show-tree: also what was never verified")
    shown.add_argument(
        "--color",
        choices=("auto", "always", "never"),
        default="auto",
        help="colour each token by how it came: accepted draft blue and underlined, the model's own token after a "
        "draft orange and bold (default: auto, on a terminal)",
    )
    shown.add_argument(
        "--trace", metavar="FILE", type=Path, help="write the record of the turn as JSON; later turns get -2, -3, ..."
    )


def run(args: argparse.Namespace, engine: EngineApi) -> int:
    """Load, then answer."""
    if args.stop and not all(args.stop):
        raise ConfigError("--stop is empty: give the text that ends the reply.")
    if args.strategy is not None and args.strategy not in engine.strategies():
        raise ConfigError(f"Unknown strategy {args.strategy!r}: use one of {', '.join(engine.strategies())}.")
    if args.trace is not None and not args.trace.absolute().parent.is_dir():
        raise ConfigError(f"--trace: the folder {args.trace.absolute().parent} does not exist.")
    model = load_model(engine, find_model(engine, args.model, args.precision))
    try:
        session = engine.ChatSession(model, options.engine_config(args, model.defaults))
        return Chat(args, engine, session, options.sampling_config(args, model.sampling)).run()
    finally:
        model.close()


class Chat:
    """A conversation on the terminal."""

    def __init__(self, args: argparse.Namespace, engine: EngineApi, session: Session, sampling: SamplingConfig) -> None:
        self._args, self._engine, self._session, self._sampling = args, engine, session, sampling
        self._style = Style(wants_color(args.color, sys.stdout), args.show_tree, args.show_pruned)
        self._turns = 0
        self.messages: list[dict[str, str]] = []
        self._reset()

    def run(self) -> int:
        """Answer the prompt, or talk until the input ends. Returns the exit code."""
        if self._args.prompt is not None:
            prompt = sys.stdin.read().strip() if self._args.prompt == "-" else self._args.prompt
            return 130 if self._answer(prompt) else 0
        from app.store import data_folder

        if sys.stdin.isatty():
            print("Type a message; /help lists commands.", file=sys.stderr)
        with history(data_folder() / "chat_history"):
            for line in lines("> "):
                if line == "/exit":
                    break
                self._typed(line)
        return 0

    def _typed(self, line: str) -> None:
        if line == "/reset":
            self._reset()
            print("The conversation is empty again.", file=sys.stderr)
        elif line.startswith("/") and line != "/help" and " " not in line:
            print(f"Unknown command {line}. Commands:\n{HELP}", file=sys.stderr)
        elif line == "/help":
            print(HELP, file=sys.stderr)
        else:
            try:
                self._answer(line)
            except EyrieError as error:  # the conversation goes on
                print(error, file=sys.stderr)

    def _answer(self, prompt: str) -> bool:
        """One turn; whether Ctrl+C ended it. A turn without a reply leaves no trace in the conversation."""
        messages = [*self.messages, {"role": "user", "content": prompt}]
        sampling = with_new_seed(self._sampling) if self._args.seed is None else self._sampling
        turn, interrupted = print_reply(self._session, messages, sampling, self._style, sys.stdout, sys.stderr)
        if turn.text:
            self.messages = [*messages, {"role": "assistant", "content": turn.text}]
        self._turns += 1
        self._style = replace(self._style, legend=False)  # once is enough
        if self._args.trace is not None:
            self._save(turn, self._args.trace)
        return interrupted

    def _save(self, turn: Turn, path: Path) -> None:
        if self._turns > 1:
            path = path.with_stem(f"{path.stem}-{self._turns}")
        path = self._engine.save_trace(path, turn)
        print(f"Trace written to {path}", file=sys.stderr)

    def _reset(self) -> None:
        self.messages = [{"role": "system", "content": self._args.system}] if self._args.system else []
