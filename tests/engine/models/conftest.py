"""The conversion and the catalog replaced, for the tests of setup."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from engine.models import convert, setup, shipped_heads
from tests.engine.models.setup_help import WARM, Builder
from tests.package_index import altered, make_entry
from tests.tiny_gguf import write_tiny_gguf


@pytest.fixture
def builder(monkeypatch: pytest.MonkeyPatch) -> Builder:
    """The conversion replaced."""
    builder = Builder()
    monkeypatch.setattr(convert, "build_folder", builder)
    return builder


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache."""
    monkeypatch.setenv("EYRIE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def gguf(tmp_path: Path) -> Path:
    """A model file of the user's."""
    return write_tiny_gguf(tmp_path / "My model.gguf")


@pytest.fixture
def catalog(monkeypatch: pytest.MonkeyPatch, gguf: Path, tmp_path: Path) -> list[str]:
    """A catalog with the tiny model in it, whose fetching is a copy; returns the names fetched."""
    entry = altered(make_entry(gguf.read_bytes(), b"wheel"), draft_head="tiny-head", mtp_head="tiny-mtp", sampling=WARM)
    fetched: list[str] = []

    def fetch(wanted: Any, folder: Path, **_: Any) -> Path:
        fetched.append(wanted.name)
        folder.mkdir(exist_ok=True)
        return Path(shutil.copy(gguf, folder / "tiny.gguf"))

    monkeypatch.setattr(setup, "find", lambda _: entry)
    monkeypatch.setattr(setup, "CATALOG", (entry,))
    monkeypatch.setattr(setup, "fetch_gguf", fetch)
    monkeypatch.setattr(shipped_heads, "ASSETS", tmp_path / "assets")
    return fetched
