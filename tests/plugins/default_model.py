"""The real default model for tests marked `model`: fetched once into the user's own cache, as the program does."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine import progress
from engine.models import cache
from engine.models.catalog import DEFAULT_MODEL, find
from engine.models.fetch import fetch_gguf


@pytest.fixture(scope="session")
def default_gguf() -> Path:
    """The GGUF file of the default model, checked by hash."""
    with cache.exclusive(progress.ignore, None):
        return fetch_gguf(find(DEFAULT_MODEL), cache.downloads_folder())
