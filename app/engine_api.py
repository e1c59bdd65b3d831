"""What the window asks of an engine. `engine` itself fits, and so does `app.replay_engine`, which plays recordings.

Only protocols and plain data: importing this loads no engine.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from engine import EngineConfig, Event, ProgressCallback, SamplingConfig


class LoadedModel(Protocol):
    """A model ready to run."""

    name: str
    folder: Path
    has_draft: bool
    precision: str
    defaults: EngineConfig
    sampling: SamplingConfig  # what a chat draws with
    dims: Any  # has context_length
    tokenizer: Any

    def close(self) -> None:
        """Give its memory back."""


class Session(Protocol):
    """A chat; used by one thread, except `stop` and the attributes. `config` and `sampling` act at the next round."""

    config: EngineConfig
    sampling: SamplingConfig
    stepping: bool

    def generate(
        self, messages: Sequence[Mapping[str, str]], sampling: SamplingConfig = ..., *, prefix: str = ...
    ) -> Iterator[Event]:
        """Yield the events of one turn."""

    def stop(self) -> None:
        """End the turn that runs, from any thread."""

    def count_tokens(self, messages: Sequence[Mapping[str, str]]) -> int:
        """Length of the rendered prompt."""


class EngineApi(Protocol):
    """The functions and classes an engine module exports."""

    Model: Any  # .load(folder, *, progress, cancel) -> LoadedModel
    ChatSession: Any  # (model, config) -> Session

    def strategies(self) -> dict[str, str]:
        """Name to one-line description, in display order."""

    def installed_models(self) -> list[Path]:
        """Model folders that are ready to load, the default one first."""

    def ensure_model(
        self, name: str = ..., *, progress: ProgressCallback = ..., cancel: threading.Event | None = ...
    ) -> Path:
        """Fetch and convert a model if it is missing."""

    def update_model(
        self, folder: Path, *, progress: ProgressCallback = ..., cancel: threading.Event | None = ...
    ) -> Path:
        """The folder to load where this one was asked for: a newer one if something newer ships."""


EngineLoader = Callable[[], EngineApi]


def real_engine() -> EngineApi:
    """Import the engine; takes a moment, so call it in the worker's thread."""
    import engine

    return engine  # type: ignore[return-value]


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """What the window needs to know of a loaded model."""

    name: str
    folder: Path
    precision: str
    has_draft: bool
    context_length: int
    defaults: EngineConfig
    sampling: SamplingConfig
    threads: int = 0  # that it computes with; 0: unknown

    @classmethod
    def of(cls, model: LoadedModel) -> ModelInfo:
        """Copy the plain facts out of a model."""
        return cls(
            model.name,
            Path(model.folder),
            model.precision,
            model.has_draft,
            model.dims.context_length,
            model.defaults,
            model.sampling,
            getattr(model, "threads", 0),
        )
