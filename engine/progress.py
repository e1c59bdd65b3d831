"""How a long step (download, conversion, load, calibration) tells how far it is and what is doubtful about what it
found, and how it is stopped."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import NamedTuple

from engine.errors import Cancelled


class Progress(NamedTuple):
    """A step and how far it is. total 0: unknown."""

    step: str  # shown to the user: "Downloading SmolLM2-135M-Instruct"
    done: int
    total: int
    unit: str = ""  # "B" for bytes, "" for a plain count
    warning: str = ""  # a sentence for the user, told once; such a report says nothing of how far the step is


ProgressCallback = Callable[[Progress], None]


def ignore(_: Progress) -> None:
    """A callback that shows nothing."""


def check(cancel: threading.Event | None) -> None:
    """Raise `Cancelled` if the user asked to stop."""
    if cancel is not None and cancel.is_set():
        raise Cancelled("Stopped.")
