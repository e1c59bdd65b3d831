"""Runs the command line against an engine that plays recorded turns."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import pytest

from app.cli.main import main
from engine.trace import Turn
from engine.trace_json import load_trace, save_trace
from tests.fake_engine import FakeEngine
from tests.fake_turn import fake_turn


@dataclass
class RecordedEngine(FakeEngine):
    """`FakeEngine` with what only the command line asks for."""

    folder: Path = Path("models")

    def models_folder(self) -> Path:
        """Where models are kept."""
        return self.folder

    def save_trace(self, path: Path, turn: Turn) -> Path:
        """As the engine's."""
        return save_trace(path, turn)

    def load_trace(self, path: Path) -> Turn:
        """As the engine's."""
        return load_trace(path)


class Result(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


@dataclass
class Cli:
    """Call it with arguments; typed lines are read from standard input."""

    capsys: pytest.CaptureFixture[str]
    monkeypatch: pytest.MonkeyPatch
    engine: RecordedEngine = field(default_factory=lambda: RecordedEngine([fake_turn(1)]))

    def __call__(self, *argv: str, typed: Sequence[str] = ()) -> Result:
        self.monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in typed)))
        self.capsys.readouterr()
        code = main(argv, load_engine=lambda: self.engine)
        return Result(code, *self.capsys.readouterr())


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Cli:
    """The command line, with models in a temporary folder."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    made = Cli(capsys, monkeypatch)
    made.engine.folder = tmp_path / "models"
    return made
