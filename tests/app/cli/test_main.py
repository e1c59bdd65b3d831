from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from app.cli.main import COMMANDS, build_parser, main
from app.log import log_path
from engine import DownloadError
from tests.app.cli.conftest import Cli

ROOT = Path(__file__).parents[3]


def fail_with(error: BaseException):
    """An engine loader that raises."""

    def load() -> None:
        raise error

    return load


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """--help teaches: what it does, every flag, examples."""
    argv = [command, "--help"] if command != "test" else ["--help"]
    assert main(argv) == 0
    out = capsys.readouterr().out
    assert "examples:" in out or command == "test"
    assert command in out


def test_help_shows_ranges_and_defaults() -> None:
    """Numbers in the help come from the one place that checks them."""
    help_text = build_parser()._subparsers._group_actions[0].choices["chat"].format_help()  # type: ignore[union-attr]
    words = " ".join(help_text.split())
    assert "From 1 to 16; default: the model's." in words
    assert "From 1 to 1000000" in words
    assert "From 0 up; default: a new one for each reply, printed below it." in words
    bench = build_parser()._subparsers._group_actions[0].choices["bench"].format_help()  # type: ignore[union-attr]
    assert "From 0 to 5; default: 0." in " ".join(bench.split())  # measuring stays greedy


def test_without_a_command_the_window_opens_and_no_command_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loading every command, to build a help that nobody asked for, took a tenth of the second a start may take."""
    monkeypatch.setattr("app.cli.window.open_window", lambda arguments: 7 + len(arguments))
    monkeypatch.setattr("app.cli.main.build_parser", lambda: pytest.fail("commands were loaded"))
    assert main([]) == 7


@pytest.mark.parametrize("argv", [("nonsense",), ("chat", "--topk", "99"), ("chat", "--nonsense"), ("replay",)])
def test_wrong_usage_is_2(cli: Cli, argv: tuple[str, ...]) -> None:
    """Scripts tell a typo from a failure by the exit code."""
    result = cli(*argv)
    assert result.code == 2
    assert result.err.startswith("usage:")


def test_foreseen_errors_are_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    """What the engine says, and nothing around it."""
    code = main(["chat", "--prompt", "x"], load_engine=fail_with(DownloadError("No network: connect and try again.")))
    assert code == 1
    assert capsys.readouterr().err == "No network: connect and try again.\n"


@pytest.mark.logs
def test_unforeseen_errors_name_the_log_file(capsys: pytest.CaptureFixture[str]) -> None:
    """A traceback is for the log file; the user gets a sentence and where to look."""
    code = main(["chat", "--prompt", "x"], load_engine=fail_with(ZeroDivisionError("surprise")))
    err = capsys.readouterr().err
    assert code == 1
    assert "surprise" in err
    assert str(log_path()) in err
    assert err.count("\n") == 1
    assert "Traceback" in log_path().read_text(encoding="utf-8")


def test_ctrl_c_is_130(capsys: pytest.CaptureFixture[str]) -> None:
    """The shell's convention for an interrupted program."""
    assert main(["doctor"], load_engine=fail_with(KeyboardInterrupt())) == 130
    assert capsys.readouterr().out == ""


def test_a_closed_pipe_is_quiet() -> None:
    """`python main.py chat --help | head -1` must not end in a traceback."""
    program = (
        "import sys; from app.cli.main import main\n"
        "def load(): raise BrokenPipeError\n"
        "sys.exit(main(['doctor'], load_engine=load))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stderr) == (1, "")


def test_openblas_gets_one_thread_before_numpy() -> None:
    """Its own threads would fight ONNX Runtime's for the cores and double the time of a round."""
    program = (
        "import os, sys; os.environ.pop('OPENBLAS_NUM_THREADS', None); import app.cli.main; "
        "print(os.environ['OPENBLAS_NUM_THREADS'])\n"
        "import numpy; from threading import active_count"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "1\n"
