"""The user's cache folder: where models and downloads lie, and who may write there. Knows no model.

Set the environment variable EYRIE_CACHE to keep them elsewhere. Unfinished work has a name that starts with a dot and
is removed by the next process that holds the lock; the system frees the lock of a process that died.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import filelock
import platformdirs

from engine import progress as steps
from engine.errors import ModelFolderError
from engine.models.fetch import TEMPORARY as FETCHING

BUILDING = ".building-"
DISCARDED = ".discarded-"
_POLL = 0.1  # seconds


def cache_folder() -> Path:
    """Root of everything Eyrie can make again."""
    chosen = os.environ.get("EYRIE_CACHE")
    return Path(chosen).expanduser().absolute() if chosen else platformdirs.user_cache_path("eyrie", appauthor=False)


def models_folder() -> Path:
    """Where model folders lie."""
    return cache_folder() / "models"


def downloads_folder() -> Path:
    """Where fetched files are kept for the next conversion."""
    return cache_folder() / "downloads"


@contextlib.contextmanager
def exclusive(progress: steps.ProgressCallback, cancel: threading.Event | None) -> Iterator[None]:
    """Be the only process that writes the cache; waits for another one, removes what a killed one left.

    Raises `Cancelled` while waiting, and `ModelFolderError` where the cache cannot be used.
    """
    try:
        models_folder().mkdir(parents=True, exist_ok=True)
        lock = filelock.FileLock(cache_folder() / "setup.lock")
        while not _acquired(lock):
            steps.check(cancel)
            progress(steps.Progress("Waiting for another Eyrie that is preparing a model", 0, 0))
    except OSError as error:
        explain(error)
    try:
        _remove_leftovers()
        yield
    finally:
        lock.release()


@contextlib.contextmanager
def unfinished(target: Path) -> Iterator[Path]:
    """A folder to build in, which becomes `target` when the block ends well and vanishes when it does not."""
    scratch = Path(tempfile.mkdtemp(prefix=BUILDING, dir=target.parent))
    try:
        yield scratch
        scratch.chmod(0o755)
        if target.exists():
            _replace(target, scratch)
        else:
            scratch.rename(target)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def discard(folder: Path) -> None:
    """Remove a folder: under its name it is there whole or not at all."""
    grave = Path(tempfile.mkdtemp(prefix=DISCARDED, dir=folder.parent))
    folder.rename(grave / folder.name)
    shutil.rmtree(grave, ignore_errors=True)


def _replace(folder: Path, new: Path) -> None:
    """Put `new` in the place of `folder`, which is removed only after that."""
    grave = Path(tempfile.mkdtemp(prefix=DISCARDED, dir=folder.parent))
    folder.rename(grave / folder.name)
    try:
        new.rename(folder)
    except OSError:
        (grave / folder.name).rename(folder)
        raise
    finally:
        shutil.rmtree(grave, ignore_errors=True)


def explain(error: OSError) -> NoReturn:
    """Raise `ModelFolderError` for an error of the file system."""
    if error.errno == errno.ENOSPC:
        what = "The disk of the cache folder is full: free some space, or set EYRIE_CACHE to a folder on another disk."
    else:
        where = error.filename or cache_folder()
        what = f"{where} cannot be used ({error.strerror or error}): check it, or set EYRIE_CACHE to another folder."
    raise ModelFolderError(what) from None


def _acquired(lock: filelock.BaseFileLock) -> bool:
    try:
        lock.acquire(timeout=_POLL, poll_interval=_POLL / 2)
    except filelock.Timeout:
        return False
    return True


def _remove_leftovers() -> None:
    for folder, prefixes in ((models_folder(), (BUILDING, DISCARDED)), (downloads_folder(), (FETCHING,))):
        for path in folder.glob(".*"):
            if path.name.startswith(prefixes):
                shutil.rmtree(path, ignore_errors=True)
