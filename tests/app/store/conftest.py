from pathlib import Path

import pytest

from app.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """An empty store in a folder of its own."""
    opened = Store(tmp_path)
    yield opened
    opened.close()
