"""`measure`: the table, the text it scores, and what it says of bad input."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import engine
from app.cli.main import main
from app.cli.measure import spread
from tests.tiny import Tiny


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model folder."""
    return Tiny().build(tmp_path_factory.mktemp("tiny"))


def run(*argv: str) -> int:
    """The exit code of `measure`."""
    return main(["measure", *argv], load_engine=lambda: engine)


def test_table_has_times_loss_and_agreement(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A model agrees with itself, and every column is filled."""
    text = tmp_path / "text.txt"
    text.write_text("the heron waits at the river and the morning is near", encoding="utf-8")
    assert run("--model", str(folder), "--text", str(text), "--context", "8") == 0
    line = capsys.readouterr().out.splitlines()[-1].split()
    assert line[0] == "float32"
    assert line[-1] == "1.0000"
    assert len(line) == 1 + 5 + 4 + 2
    assert all(float(value) > 0 for value in line[1:])


def test_npz_conversations_are_read(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The data set's own layout is a text to score as well."""
    path = tmp_path / "data.npz"
    np.savez(path, ids=np.arange(40, dtype=np.uint16) % 50, off=np.array([0, 15, 40]))
    assert run("--model", str(folder), "--text", str(path), "--context", "8", "--tokens", "30") == 0
    assert "1.0000" in capsys.readouterr().out


@pytest.mark.parametrize("content", [b"\xff\xfe\xff", b""])
def test_bad_text_is_one_sentence(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes
) -> None:
    """A file without usable text ends with a sentence that names it."""
    path = tmp_path / "bad.txt"
    path.write_bytes(content)
    assert run("--model", str(folder), "--text", str(path), "--context", "8") == 1
    said = capsys.readouterr().err.strip().splitlines()[-1]
    assert str(path) in said
    assert "Traceback" not in said


def test_context_must_fit(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A context beyond the model's is refused before anything is measured."""
    assert run("--model", str(folder), "--context", "100000") == 1
    assert "--context" in capsys.readouterr().err


def test_spread_takes_evenly_and_cuts_the_last() -> None:
    """Figures over few tokens must not come from the beginning of a data set alone."""
    texts = [[i] * 10 for i in range(100)]
    taken = spread(texts, 95)
    assert sum(map(len, taken)) == 95
    assert taken[1][0] == 10
