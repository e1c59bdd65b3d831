"""What `doctor` finds on the machine: versions, processor, screen, model folders, disk. Loads no model."""

from __future__ import annotations

import importlib
import json
import os
import platform
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from app.cli import machine
from app.cli.checks import Check, size
from app.engine_api import EngineApi
from app.log import log_path
from app.store import data_folder

LEAST_DISK = 1_000_000_000  # bytes: the default model while it is converted
QT_LIBRARIES = "sudo apt install libegl1 libgl1 libxkbcommon0 libdbus-1-3 libfontconfig1 libxcb-cursor0"


def machine_checks(engine: EngineApi) -> Iterator[Check]:
    """Everything, in the order to read it."""
    yield Check(True, f"Python {platform.python_version()} in {sys.prefix}")
    yield from _packages()
    yield _providers()
    yield _window()
    name, flags = machine.processor()
    known = f" with {', '.join(flags)}" if flags else ""
    yield Check(None, f"Processor {name}{known}; {machine.threads()} threads for this process")
    yield from _folders(engine)


def _packages() -> Iterator[Check]:
    for name, version in machine.versions().items():
        if version:
            yield Check(True, f"{name} {version}")
        else:
            yield Check(False, f"{name} is not installed", "run 'pip install -e .' in this environment")


def _providers() -> Check:
    try:
        found = importlib.import_module("onnxruntime").get_available_providers()
    except ImportError as error:
        return Check(
            False, f"ONNX Runtime does not start ({error})", "install it again, on Windows with the VC++ runtime"
        )
    return Check(True, f"ONNX Runtime providers: {', '.join(found)}; this version of Eyrie runs on the CPU")


def _window() -> Check:
    try:
        importlib.import_module("PySide6.QtWidgets")
    except ImportError as error:
        return Check(False, f"Qt does not start ({error})", f"on Debian and Ubuntu, {QT_LIBRARIES}")
    if sys.platform.startswith("linux") and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return Check(None, "Qt starts, but there is no screen here: the window needs one, the other commands do not")
    return Check(True, "Qt starts")


def _folders(engine: EngineApi) -> Iterator[Check]:
    cache = engine.models_folder()
    folders = engine.installed_models()
    yield Check(None, f"Models are kept in {cache}")
    for folder in folders:
        yield Check(True, f"Model {folder.name}, {precision(folder)}, {size(folder_size(folder))}, in {folder}")
    if folders:
        yield Check(None, "'doctor FOLDER' tests one of them")
    else:
        yield Check(None, "No model yet: the first chat fetches the default one, or run 'setup'")
    yield Check(None, f"Chats and the log file are kept in {data_folder()} ({log_path().name})")
    free = shutil.disk_usage(_existing(cache)).free
    if folders or free >= LEAST_DISK:
        yield Check(True, f"{size(free)} of disk free")
    else:
        yield Check(False, f"Only {size(free)} of disk free", f"free {size(LEAST_DISK)} for the model")


def folder_size(folder: Path) -> int:
    """Bytes of all files in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def precision(folder: Path) -> str:
    """Precision of a model folder's weights."""
    try:
        return str(json.loads((folder / "config.json").read_text(encoding="utf-8"))["precision"])
    except (OSError, ValueError, KeyError, TypeError):
        return "unknown precision"


def _existing(folder: Path) -> Path:
    return next(path for path in (folder, *folder.parents) if path.exists())
