"""Reads what the user types, line by line, with a history where the system has readline. Knows no engine."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path

HISTORY_LINES = 1000


@contextlib.contextmanager
def history(path: Path) -> Iterator[None]:
    """Arrow keys and Ctrl+R find earlier lines, also those of earlier sessions; nothing where readline is missing."""
    try:
        import readline
    except ImportError:
        yield
        return
    with contextlib.suppress(OSError):
        readline.read_history_file(path)
    readline.set_history_length(HISTORY_LINES)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch(mode=0o600)
            readline.write_history_file(path)


def lines(prompt: str) -> Iterator[str]:
    """Lines until the input ends, without line ends and without empty ones; the prompt shows only on a terminal."""
    shown = prompt if sys.stdin.isatty() else ""
    while True:
        try:
            line = input(shown) if shown else _next_line()
        except EOFError:
            return
        if line.strip():
            yield line.strip()


def _next_line() -> str:
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line
