"""`doctor`: says what this machine has, or tests a model folder."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from app.cli.checks import show
from app.cli.doctor_folder import folder_checks
from app.cli.doctor_machine import machine_checks
from app.engine_api import EngineApi

SUMMARY = "say what this machine has and what to mend, or test a model folder"
EXAMPLES = """examples:
  python main.py doctor
  python main.py doctor path/to/model-folder

✓ good, ✗ broken, with a way to mend it, · a fact. The exit code is 1 if something is broken."""


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Which folder."""
    parser.add_argument("folder", type=Path, nargs="?", metavar="FOLDER", help="test this model folder")


def run(args: argparse.Namespace, engine: EngineApi) -> int:
    """Print the findings."""
    checks = folder_checks(engine, args.folder) if args.folder else machine_checks(engine)
    return 0 if show(checks, sys.stdout) else 1
