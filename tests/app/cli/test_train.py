"""The flags of `train` become what was asked for, and mistakes are told in a sentence. Training: tests/engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from app.cli import train
from app.cli.main import build_parser
from engine import ConfigError, TrainingRequest


def asked(*argv: str) -> TrainingRequest:
    """The request of a command line."""
    return train.make_request(build_parser().parse_args(["train", "MODEL", *argv]), Path("/models/m"))


def test_without_flags(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A laptop's defaults: the model writes a million tokens, two hours of training, everything in the cache."""
    monkeypatch.setenv("EYRIE_CACHE", str(tmp_path))
    found = asked()
    assert found.wanted_tokens == 1_000_000
    assert found.hours == 2.0
    assert found.kind == "eagle3"
    assert found.run_folder == tmp_path / "training" / "m" / "eagle3"
    assert found.out_folder == tmp_path / "training" / "m" / "model"
    assert found.recompute is None


def test_data_replaces_writing_and_a_head_lowers_the_rate() -> None:
    """Continuing a head with the rate of a new one would undo what it knows."""
    found = asked("--data", "a.npz", "b.npz", "--init", "h", "--unroll", "5", "--type", "mtp", "--work", "w")
    assert found.data == (Path("a.npz"), Path("b.npz"))
    assert found.wanted_tokens == 0
    assert found.plan == {"unroll": 5, "kind": "mtp", "learning_rate": 3e-4}
    assert found.run_folder == Path("w/mtp")
    assert asked("--data", "a.npz", "--tokens", "5000").wanted_tokens == 5000
    assert asked("--init", "h", "--learning-rate", "1e-3").plan["learning_rate"] == 1e-3
    assert asked("--step-weight", "0.6").plan["step_weight"] == 0.6


def test_steps_instead_of_hours() -> None:
    """One or the other."""
    assert asked("--steps", "10").hours is None
    with pytest.raises(ConfigError, match="one of them"):
        asked("--steps", "10", "--hours", "1")


@pytest.mark.parametrize("argv", [("--hours", "0"), ("--threads", "0"), ("--draft-vocab", "1"), ("--max-length", "2")])
def test_values_out_of_range_are_named(argv: tuple[str, str]) -> None:
    """Before anything is loaded."""
    with pytest.raises(ConfigError, match=argv[0].removeprefix("--").replace("-", "_")):
        asked(*argv)


def test_help_teaches(capsys: pytest.CaptureFixture[str]) -> None:
    """What happens, what to expect, how to stop and go on."""
    with pytest.raises(SystemExit):
        build_parser().parse_args(["train", "--help"])
    shown = capsys.readouterr().out
    for word in ("Ctrl+C", "--init", "chain τ", "held-out", "docs/training.md"):
        assert word in shown


def test_a_missing_model_folder_is_told_once(capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    """Without PyTorch that is what is said; with it, the unknown name."""
    from app.cli.main import main

    assert main(["train", "no-such-model"]) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1
