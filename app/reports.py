"""What the engine's thread tells the window, as plain data. Everything it says travels through one queue, in order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.engine_api import ModelInfo
from engine import Event, Progress


@dataclass(frozen=True, slots=True)
class EngineReady:
    """The engine is imported."""

    strategies: Mapping[str, str]
    models: tuple[Path, ...]  # model folders that are there, the default one first
    catalog: tuple[Any, ...] = ()  # models that can be fetched: .name, .wheel_size in bytes, .licence, .origin


@dataclass(frozen=True, slots=True)
class Progressed:
    """A long job is somewhere."""

    job: int
    progress: Progress


@dataclass(frozen=True, slots=True)
class ModelReady:
    """A model is loaded and replaced the one before."""

    job: int
    info: ModelInfo


@dataclass(frozen=True, slots=True)
class TurnEvent:
    """One event of a running turn."""

    job: int
    event: Event


@dataclass(frozen=True, slots=True)
class Counted:
    """Length in tokens of what `key` stands for."""

    key: Any
    tokens: int


@dataclass(frozen=True, slots=True)
class Calibrated:
    """Milliseconds of one pass of plain decoding; None when it cannot be measured, and why."""

    ms: float | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Answered:
    """A task posted with `run` returned."""

    job: int
    value: Any


@dataclass(frozen=True, slots=True)
class Failed:
    """A job ended without a result."""

    job: int
    sentence: str  # for the user
    detail: str = ""  # traceback of an unexpected error, "" for one meant for the user
    cancelled: bool = False


@dataclass(frozen=True, slots=True)
class Warned:
    """Something went wrong beside a job that goes on."""

    job: int
    sentence: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Done:
    """A job is over, well or not: always the last report of each."""

    job: int


Report = EngineReady | Progressed | ModelReady | TurnEvent | Counted | Calibrated | Answered | Failed | Warned | Done
