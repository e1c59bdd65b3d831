"""Gets a model ready for a command: fetched and converted if missing, loaded, with progress and Ctrl+C."""

from __future__ import annotations

import threading
from pathlib import Path

from app.cli.interrupt import on_interrupt
from app.cli.progress_bar import ProgressBar
from app.engine_api import EngineApi, LoadedModel
from engine import Cancelled


def find_model(engine: EngineApi, name: str | None, precision: str | None) -> Path:
    """A model's folder: `name` as it is if it is a folder, otherwise fetched and converted if it is missing."""
    if name is not None and Path(name).is_dir():
        return Path(name)
    cancel = threading.Event()
    with ProgressBar() as bar, on_interrupt(cancel.set) as pressed:
        named = {} if name is None else {"name": name}
        try:
            return engine.ensure_model(**named, progress=bar, cancel=cancel, precision=precision)
        except Cancelled:
            raise KeyboardInterrupt if pressed else Cancelled("Stopped.") from None


def load_model(engine: EngineApi, folder: Path) -> LoadedModel:
    """The model in `folder`."""
    cancel = threading.Event()
    with ProgressBar() as bar, on_interrupt(cancel.set) as pressed:
        try:
            return engine.Model.load(folder, progress=bar, cancel=cancel)
        except Cancelled:
            raise KeyboardInterrupt if pressed else Cancelled("Stopped.") from None
