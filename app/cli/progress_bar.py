"""Shows a long step on standard error: a bar on a terminal, plain lines elsewhere. Knows `Progress`; no model.

Nothing appears for a step that takes less than half a second.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self, TextIO

from tqdm import tqdm

from engine import Progress

PATIENCE = 0.5  # seconds before anything is shown
LINE_EVERY = 5.0  # seconds between two plain lines of one step


class _Bar(tqdm):
    monitor_interval = 0  # no thread that wakes up quiet bars: this one is refreshed by hand


class ProgressBar:
    """A progress callback; use as a context manager so that the bar goes away."""

    def __init__(self, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream or sys.stderr
        self._terminal = self._stream.isatty()
        self._clock = clock
        self._step = ""
        self._began = self._said = 0.0
        self._lines = 0  # plain lines said about this step
        self._first = 0  # how far this step was when it began here
        self._bar: _Bar | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close(finished=error is None)

    def __call__(self, progress: Progress) -> None:
        """Show how far a step is, or say what it warns of."""
        if progress.warning:
            self.say(progress.warning)
            return
        now = self._clock()
        if progress.step != self._step:
            self.close()
            self._step, self._began, self._lines, self._first = progress.step, now, 0, progress.done
            return
        if now - self._began < PATIENCE:
            return
        if self._terminal:
            self._show_bar(progress)
        elif not self._lines or now - self._said >= LINE_EVERY:
            self._say(progress.step + _share(progress) + self._left(progress, now))
            self._said = now
            self._lines += 1

    def _show_bar(self, progress: Progress) -> None:
        if self._bar is None:
            self._bar = _Bar(
                desc=progress.step,
                total=progress.total or None,
                initial=self._first,
                unit=progress.unit or "it",
                unit_scale=bool(progress.unit),
                file=self._stream,
                leave=False,
                dynamic_ncols=True,
                bar_format=None if progress.unit else "{l_bar}{bar}| {n_fmt}/{total_fmt} [{elapsed}<{remaining}]",
            )
            self._bar.start_t -= self._clock() - self._began
        self._bar.n = progress.done
        self._bar.refresh()

    def say(self, text: str) -> None:
        """A line of its own, above the bar if there is one."""
        if self._bar is not None:
            self._bar.clear()
        self._say(text)
        if self._bar is not None:
            self._bar.refresh()

    def _left(self, progress: Progress, now: float) -> str:
        """How long a step of minutes will take from here, at the speed so far."""
        made = progress.done - self._first
        left = (progress.total - progress.done) * (now - self._began) / made if made > 0 else 0.0
        return f", about {left / 60:.0f} min left" if left > 90 else ""

    def close(self, *, finished: bool = True) -> None:
        """The step is over: say how long it took, if anything was said about it."""
        took = self._clock() - self._began
        if self._bar is not None:
            self._bar.close()
        if finished and (self._bar is not None or self._lines):
            self._say(f"{self._step}: {took:.1f} s")
        self._bar, self._step, self._lines = None, "", 0

    def _say(self, text: str) -> None:
        print(text, file=self._stream, flush=True)


def _share(progress: Progress) -> str:
    return f": {100 * progress.done // progress.total} %" if progress.total else ""
