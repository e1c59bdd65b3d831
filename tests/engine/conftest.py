"""Tiny models, each built and loaded once per run."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engine.model import Model
from tests.tiny import Tiny, TinySource

Loaded = Callable[[Tiny], Model]


@pytest.fixture(scope="session")
def tiny() -> Iterator[Loaded]:
    """Gives the model made from a recipe. It is shared: a test that changes it puts it back."""
    root = Path(tempfile.mkdtemp(prefix="eyrie-tiny-"))
    models: dict[Tiny, Model] = {}

    def load(recipe: Tiny) -> Model:
        if recipe not in models:
            models[recipe] = Model.load(recipe.build(root / str(len(models))), threads=1)
        return models[recipe]

    yield load
    for model in models.values():
        model.close()
    models.clear()
    shutil.rmtree(root, ignore_errors=True)


@pytest.fixture
def brittle(tiny: Loaded) -> Model:
    """An int8 model whose text changes with the last bit of attention: anything left over or out of place shows."""
    return tiny(Tiny(precision="int8", source=TinySource(ties=0.01, brittle=True)))
