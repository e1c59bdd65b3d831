"""`setup`: fetches and converts a model, if it is not there yet."""

from __future__ import annotations

import argparse
import time

from app.cli import options
from app.cli.load import find_model
from app.engine_api import EngineApi

SUMMARY = "fetch a model and convert it; every other command does this when it is needed"
EXAMPLES = """examples:
  python main.py setup
  python main.py setup --precision float32

The model goes into your cache folder ('python main.py doctor' says where), in one piece or not at all."""


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Which model."""
    options.add_model_flags(parser)


def run(args: argparse.Namespace, engine: EngineApi) -> int:
    """Make sure the model is there and say where."""
    began = time.monotonic()
    folder = find_model(engine, args.model, args.precision)
    took = time.monotonic() - began
    print(f"Ready: {folder}" + (f" ({took:.0f} s)" if took > 1 else ""))
    return 0
