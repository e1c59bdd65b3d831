"""`test`: runs the project's tests in this Python."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from app.engine_api import EngineApi
from engine import EyrieError

SUMMARY = "run the tests, two at a time; everything after 'test' goes to pytest (-n0: one at a time)"
EXAMPLES = """examples:
  python main.py test
  python main.py test tests/engine -k tree -x"""

ROOT = Path(__file__).resolve().parents[2]
SPREAD = ("-nauto", "--dist=loadfile", "--no-loadscope-reorder")  # see tests/plugins/alone.py
NEEDED = {"pytest": "pytest", "pytest-xdist": "xdist"}  # package: its module, which pytest itself wants to import


class NoTests(EyrieError):
    """This installation has no tests."""


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Whatever pytest takes."""
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...", help="arguments for pytest")


def run(args: argparse.Namespace, engine: EngineApi) -> int:
    """As `run_tests`."""
    return run_tests(args.arguments)


def run_tests(arguments: Sequence[str]) -> int:
    """Run pytest in the project's folder, in two processes; its exit code. Without a display, Qt draws offscreen."""
    if not (ROOT / "tests").is_dir():
        raise NoTests(f"There are no tests in {ROOT}: get the whole project to run them.")
    if not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    # ONNX Runtime before any Qt, which pytest-qt imports: see app/cli/window.py.
    import onnxruntime  # noqa: F401

    missing = [name for name, module in NEEDED.items() if find_spec(module) is None]
    if missing:
        raise NoTests(f"The tests need {' and '.join(missing)}: run 'pip install -e .[test]' in your environment.")
    import pytest

    os.chdir(ROOT)
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    return int(pytest.main([*SPREAD, *arguments]))
