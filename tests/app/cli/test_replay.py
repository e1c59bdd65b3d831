from __future__ import annotations

from pathlib import Path

import pytest

from app.cli import replay
from engine.trace_json import save_trace
from tests.app.cli.conftest import Cli
from tests.fake_turn import fake_turn


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """A recorded turn on disk."""
    return save_trace(tmp_path / "turn.json", fake_turn(1))


def test_as_text_it_is_the_reply(cli: Cli, trace: Path) -> None:
    """As chat would have printed it, counts apart."""
    result = cli("replay", str(trace), "--text")
    assert (result.code, result.out) == (0, fake_turn(1).text + "\n")
    assert "τ" in result.err
    assert not cli.engine.sessions


def test_trees_are_text_too(cli: Cli, trace: Path) -> None:
    """--show-tree alone is enough."""
    assert cli("replay", str(trace), "--show-tree").out.startswith("round 0 at ")


def test_the_window_gets_the_file(cli: Cli, trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`replay FILE` is a window command."""
    opened = []
    monkeypatch.setattr(replay, "open_window", lambda argv: opened.append(argv) or 7)
    assert cli("replay", str(trace)).code == 7
    assert opened == [["replay", str(trace)]]


@pytest.mark.parametrize("flags", [(), ("--text",)])
def test_a_broken_file_is_one_sentence(cli: Cli, tmp_path: Path, flags: tuple[str, ...]) -> None:
    """In the terminal, before any window opens."""
    path = tmp_path / "broken.json"
    path.write_text("{")
    result = cli("replay", str(path), *flags)
    assert result.code == 1
    assert result.err.count("\n") == 1
    assert path.name in result.err
