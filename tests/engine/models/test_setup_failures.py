"""A setup that fails or is stopped: nothing half-made stays, and a sentence says why."""

from __future__ import annotations

import errno
import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.errors import Cancelled, DownloadError, ModelFileError, ModelFolderError
from engine.models.setup import ensure_model, installed_models
from tests.engine.models.setup_help import Builder, give_head, names_in

pytestmark = pytest.mark.usefixtures("root")


def _raise(error: BaseException) -> Callable[[Path], None]:
    def before(_: Path) -> None:
        raise error

    return before


@pytest.mark.parametrize(
    ("error", "shown"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), ModelFolderError),
        (PermissionError(errno.EACCES, "Permission denied"), ModelFolderError),
        (ModelFileError("broken"), ModelFileError),
        (Cancelled("Stopped."), Cancelled),
        (KeyboardInterrupt(), KeyboardInterrupt),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else value.__name__,
)
def test_a_failed_conversion_leaves_nothing(
    builder: Builder, gguf: Path, root: Path, error: BaseException, shown: type[BaseException]
) -> None:
    """And the next try succeeds."""
    builder.before = _raise(error)
    with pytest.raises(shown):
        ensure_model(str(gguf))
    assert names_in(root / "models") == set()
    builder.before = lambda _: None
    assert ensure_model(str(gguf)).is_dir()


def test_a_failed_remake_keeps_the_old_folder(builder: Builder, catalog: list[str], tmp_path: Path) -> None:
    """Offline after an upgrade of the head, say: the old one is still better than none."""
    folder = ensure_model("Tiny")
    give_head(tmp_path, b"head")
    builder.before = _raise(ModelFileError("broken"))
    with pytest.raises(ModelFileError):
        ensure_model("Tiny")
    assert installed_models() == [folder]


def test_stop_before_the_folder_appears(builder: Builder, gguf: Path, root: Path) -> None:
    """Cancelled in the last step, there is still no folder."""
    cancel = threading.Event()
    builder.before = lambda _: cancel.set()
    with pytest.raises(Cancelled):
        ensure_model(str(gguf), cancel=cancel)
    assert names_in(root / "models") == set()


def test_a_full_disk_is_told_before_the_conversion(
    builder: Builder, gguf: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not after minutes of work."""
    usage = shutil.disk_usage(gguf.parent)._replace(free=1_000_000)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    with pytest.raises(DownloadError, match="disk is too full"):
        ensure_model(str(gguf))
    assert builder.calls == []
    assert names_in(root / "models") == set()


@pytest.mark.parametrize("where", ["cache", "cache/models"])
def test_a_cache_that_cannot_be_written(builder: Builder, gguf: Path, tmp_path: Path, where: str) -> None:
    """A file stands where the folder should be, or it belongs to somebody else."""
    (tmp_path / where).parent.mkdir(exist_ok=True)
    (tmp_path / where).write_text("")
    with pytest.raises(ModelFolderError, match="cannot be used"):
        ensure_model(str(gguf))


def test_a_broken_file_of_the_users(builder: Builder, gguf: Path, root: Path) -> None:
    """The reader's sentence arrives as it is."""
    os.truncate(gguf, 2000)
    with pytest.raises(ModelFileError, match=r"My model\.gguf is cut short"):
        ensure_model(str(gguf))
    assert names_in(root / "models") == set()
