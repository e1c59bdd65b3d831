"""Two processes share the tests of a run; while one runs a test marked `alone`, the other waits.

`python3 main.py test` asks pytest-xdist for its processes (app/cli/test.py), and how many is said here. Knows nothing
of what the tests do. In a run of one process nothing changes.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from engine.runtime import default_threads

WORKERS = 2
POLL_SECONDS = 0.01
FOLDER = pytest.StashKey[Path]()


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known; take turns with the other process, if this is one of two."""
    config.addinivalue_line("markers", "alone: the test measures time, so that no other test may run meanwhile")
    given: dict[str, Any] = getattr(config, "workerinput", {})
    if "turns" in given:
        number = int(given["workerid"].removeprefix("gw")) % given["workercount"]
        config.pluginmanager.register(Turns(Path(given["turns"]), number, given["workercount"]))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Two, but one and the same process for a few tests, or where somebody watches: it starts at once, in order."""
    few = bool(config.option.keyword) or any(".py" in argument for argument in config.args)
    watched = config.option.capture == "no" or config.option.collectonly
    return 0 if few or watched or default_threads() < WORKERS else WORKERS


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell each process where the locks of this run are."""
    stash: pytest.Stash = node.config.stash
    if FOLDER not in stash:
        stash[FOLDER] = Path(tempfile.mkdtemp(prefix="eyrie-turns-"))
    node.workerinput["turns"] = str(stash[FOLDER])


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove the locks."""
    if FOLDER in config.stash:
        shutil.rmtree(config.stash[FOLDER], ignore_errors=True)


class Turns:
    """One process of `count`: it holds its own lock while a test runs, and everybody's while one runs alone."""

    def __init__(self, folder: Path, number: int, count: int) -> None:
        self._gate = FileLock(folder / "gate")  # who waits for all locks holds it, so that nobody overtakes
        self._locks = [FileLock(folder / str(i)) for i in range(count)]
        self._own = self._locks[number : number + 1]

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Long files first; at the end those with tests that run alone, which are the last of their file."""
        files: dict[Path, list[pytest.Item]] = {}
        for item in items:
            files.setdefault(item.path, []).append(item)
        order = sorted(files.values(), key=lambda file: (any(map(alone, file)), not any(map(long, file))))
        items[:] = [item for file in order for item in sorted(file, key=alone)]

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
        """Outside of the test's own time limit. Tests that run alone one after another go on without a pause."""
        wanted = self._locks if alone(item) else self._own
        if not all(lock.is_locked for lock in wanted):
            with self._gate:
                for lock in wanted:
                    lock.acquire(poll_interval=POLL_SECONDS)
        try:
            return (yield)
        finally:
            if not (alone(item) and nextitem is not None and alone(nextitem)):
                for lock in wanted:
                    lock.release(force=True)


def alone(item: pytest.Item) -> bool:
    """Whether nothing may run beside it."""
    return item.get_closest_marker("alone") is not None


def long(item: pytest.Item) -> bool:
    """Whether its file takes so much longer than others that it must not be the last to begin."""
    return item.get_closest_marker("model") is not None
