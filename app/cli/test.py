"""`test`: runs the project's tests in this Python."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from app.engine_api import EngineApi
from engine import EyrieError

SUMMARY = "run the tests; everything after 'test' goes to pytest"
EXAMPLES = """examples:
  python main.py test
  python main.py test tests/engine -k tree -x"""

ROOT = Path(__file__).resolve().parents[2]


class NoTests(EyrieError):
    """This installation has no tests."""


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Whatever pytest takes."""
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...", help="arguments for pytest")


def run(args: argparse.Namespace, engine: EngineApi) -> int:
    """As `run_tests`."""
    return run_tests(args.arguments)


def run_tests(arguments: Sequence[str]) -> int:
    """Run pytest in the project's folder; its exit code. Without a display, Qt draws offscreen."""
    if not (ROOT / "tests").is_dir():
        raise NoTests(f"There are no tests in {ROOT}: get the whole project to run them.")
    if not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    # ONNX Runtime before any Qt, which pytest-qt imports: see app/cli/window.py.
    import onnxruntime  # noqa: F401

    try:
        import pytest
    except ImportError:
        raise NoTests("pytest is missing: run 'pip install -e .[test]' in your environment.") from None
    os.chdir(ROOT)
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    return int(pytest.main(list(arguments)))
