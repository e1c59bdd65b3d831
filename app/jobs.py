"""What the engine's thread can be asked to do, as plain data."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from engine import Event, SamplingConfig


class Recorder(Protocol):
    """Keeps a turn while it runs."""

    def add(self, event: Event) -> None:
        """One more event."""

    def close(self, error: str, cancelled: bool) -> None:
        """Nothing follows. `error` and `cancelled` say why there was no `TurnEnd`, if so. Called in every case."""


@dataclass(eq=False, slots=True)
class Job:
    """One thing to do. `cancel` may be set from any thread."""

    number: int
    doing: str  # completes "while …" in an error message
    cancel: threading.Event = field(default_factory=threading.Event)


@dataclass(eq=False, slots=True)
class Start(Job):
    """Import the engine."""


@dataclass(eq=False, slots=True)
class Load(Job):
    """Load a model; fetch and convert the named one first when `folder` is None."""

    folder: Path | None = None
    name: str | None = None


@dataclass(eq=False, slots=True)
class Generate(Job):
    """Run one turn. `recorder` hears of every event here, in the engine's thread, before the window does."""

    messages: Sequence[Mapping[str, str]] = ()
    sampling: SamplingConfig = field(default_factory=SamplingConfig)
    prefix: str = ""
    recorder: Recorder | None = None


@dataclass(eq=False, slots=True)
class Calibrate(Job):
    """Measure a pass of plain decoding."""


@dataclass(eq=False, slots=True)
class Count(Job):
    """Count the tokens of a prompt. Only the newest request is answered."""

    messages: Sequence[Mapping[str, str]] = ()
    key: Any = None


@dataclass(eq=False, slots=True)
class Run(Job):
    """Call something short here, between two rounds if a turn runs."""

    call: Callable[[], Any] = field(default=lambda: None)
