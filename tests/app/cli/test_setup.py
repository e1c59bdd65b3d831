from __future__ import annotations

import signal
import threading
from pathlib import Path

import pytest

from engine import DownloadError
from tests.app.cli.conftest import Cli


def test_it_fetches_what_is_missing_and_says_where(cli: Cli) -> None:
    """The path is on standard output, for scripts."""
    cli.engine.installed = False
    result = cli("setup")
    assert result.code == 0
    assert result.out.startswith("Ready: ")
    assert cli.engine.installed


def test_name_and_precision_reach_the_engine(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what was given: the defaults are the engine's."""
    seen = []

    def ensure(*args: object, **more: object) -> Path:
        seen.append({k: v for k, v in more.items() if k in ("name", "precision")})
        return Path("x")

    monkeypatch.setattr(type(cli.engine), "ensure_model", staticmethod(ensure))
    cli("setup")
    cli("setup", "--model", "tiny", "--precision", "float32")
    assert seen == [{"precision": None}, {"name": "tiny", "precision": "float32"}]


def test_a_folder_is_taken_as_it_is(cli: Cli, tmp_path: Path) -> None:
    """--model may be a model folder anywhere."""
    cli.engine.installed = False
    assert cli("setup", "--model", str(tmp_path)).out == f"Ready: {tmp_path}\n"
    assert not cli.engine.installed


def test_a_failed_download_is_one_sentence(cli: Cli) -> None:
    """And exit code 1."""
    cli.engine.installed = False
    cli.engine.fetch_error = DownloadError("No network: connect and try again.")
    result = cli("setup")
    assert (result.code, result.out) == (1, "")
    assert result.err.splitlines()[-1] == "No network: connect and try again."


def test_ctrl_c_stops_the_download(cli: Cli) -> None:
    """Through the engine's own cancel, so that nothing half-made stays; the exit code says so."""
    cli.engine.installed = False
    cli.engine.fetch_seconds = 20.0
    timer = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
    timer.start()
    result = cli("setup")
    timer.join()
    assert result.code == 130
    assert not cli.engine.installed
