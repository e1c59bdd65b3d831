"""The command line: picks the command, and shows every error in one place, as one sentence.

Exit codes: 0 done, 1 error, 2 wrong usage, 130 Ctrl+C.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType

from app.cli.terminal import prepare_streams
from app.engine_api import EngineLoader, real_engine

COMMANDS = ("chat", "bench", "measure", "doctor", "setup", "train", "replay", "test")
DESCRIPTION = """Eyrie: chat with a local language model through EAGLE-3 tree speculative decoding, and see it work.
Without a command, the window opens. What is missing (the model, say) is fetched and made on first use."""
EPILOG = """Each command explains itself: python main.py chat --help"""


def main(argv: Sequence[str] | None = None, *, load_engine: EngineLoader = real_engine) -> int:
    """Run the command line; returns the exit code and never raises."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy: its threads would fight ONNX Runtime's
    prepare_streams()
    argv = list(sys.argv[1:] if argv is None else argv)
    try:
        return _dispatch(argv, load_engine)
    except SystemExit as leaving:  # argparse: 0 after --help, 2 after wrong usage
        return leaving.code if isinstance(leaving.code, int) else 1
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of our output left, as in `... | head`
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  (stops a second error at exit)
        return 1
    except Exception as error:
        return _explain(error, argv)


def _dispatch(argv: list[str], load_engine: EngineLoader) -> int:
    if argv[:1] == ["test"]:  # everything after it is pytest's
        return import_module("app.cli.test").run_tests(argv[1:])
    if not argv:  # the window needs none of the commands, and loading them takes a tenth of a second
        return import_module("app.cli.window").open_window([])
    args = build_parser().parse_args(argv)
    command: ModuleType = args.module
    return command.run(args, load_engine())


def build_parser() -> argparse.ArgumentParser:
    """Every command with its flags."""
    style = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser("main.py", description=DESCRIPTION, epilog=EPILOG, formatter_class=style)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command", required=True)
    for name in COMMANDS:
        module = import_module(f"app.cli.{name}")
        about = f"{module.SUMMARY[0].upper()}{module.SUMMARY[1:]}."
        sub = commands.add_parser(
            name,
            allow_abbrev=False,
            help=module.SUMMARY,
            description=about,
            epilog=module.EXAMPLES,
            formatter_class=style,
        )
        module.add_flags(sub)
        sub.set_defaults(module=module)
    return parser


def _explain(error: Exception, argv: list[str]) -> int:
    """One sentence on standard error; the traceback of what nobody foresaw goes to the log file."""
    from engine import EyrieError

    if isinstance(error, EyrieError):
        print(error, file=sys.stderr)
        return 1
    from app.log import log_path, start_log, stop_log, unexpected

    start_log()
    sentence, _ = unexpected(error, f"running '{' '.join(argv[:1]) or 'the window'}'")
    stop_log()
    print(f"{sentence} The details are in {log_path()}.", file=sys.stderr)
    return 1
