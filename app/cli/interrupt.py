"""Ctrl+C: the first press asks the running work to stop, the second ends the program. Knows no engine."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator


class Interrupted:
    """Whether Ctrl+C was pressed within `on_interrupt`."""

    def __init__(self) -> None:
        self.pressed = False

    def __bool__(self) -> bool:
        return self.pressed


@contextlib.contextmanager
def on_interrupt(ask_to_stop: Callable[[], object]) -> Iterator[Interrupted]:
    """While inside, Ctrl+C calls `ask_to_stop` instead of raising; pressed again it raises `KeyboardInterrupt`."""
    state = Interrupted()
    if threading.current_thread() is not threading.main_thread():  # signals belong to the main thread
        yield state
        return

    def handle(number: int, frame: object) -> None:
        if state.pressed:
            raise KeyboardInterrupt
        state.pressed = True
        ask_to_stop()

    before = signal.signal(signal.SIGINT, handle)
    try:
        yield state
    finally:
        signal.signal(signal.SIGINT, before)
