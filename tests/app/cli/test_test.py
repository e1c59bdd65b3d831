from __future__ import annotations

import os
from pathlib import Path

import pytest

from app.cli import test as command
from tests.app.cli.conftest import Cli


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[list[str]]:
    """What pytest was called with; it fails with 1."""
    calls: list[list[str]] = []
    monkeypatch.setattr(pytest, "main", lambda argv: calls.append(argv) or 1)
    monkeypatch.chdir(tmp_path)
    return calls


def test_arguments_and_exit_code_are_pytest_s(cli: Cli, ran: list[list[str]]) -> None:
    """Flags too, though they look like ours."""
    assert cli("test", "-x", "--help", "tests/engine").code == 1
    assert ran == [[*command.SPREAD, "-x", "--help", "tests/engine"]]
    assert Path.cwd() == command.ROOT


@pytest.mark.parametrize(("display", "expected"), [("", "offscreen"), (":1", None)])
def test_without_a_display_qt_draws_offscreen(
    ran: list[list[str]], monkeypatch: pytest.MonkeyPatch, display: str, expected: str | None
) -> None:
    """The test command must work on a server; a screen, where there is one, is used."""
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setenv("DISPLAY", display)
    monkeypatch.setenv("QT_QPA_PLATFORM", "x")
    monkeypatch.delenv("QT_QPA_PLATFORM")
    command.run_tests([])
    assert os.environ.get("QT_QPA_PLATFORM") == expected


def test_an_installation_without_tests_says_so(
    cli: Cli, ran: list[list[str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A wheel has none."""
    monkeypatch.setattr(command, "ROOT", tmp_path)
    result = cli("test")
    assert result.code == 1
    assert "no tests" in result.err
    assert not ran


def test_a_missing_package_is_named(cli: Cli, ran: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever has pytest does not know what else this asks for; pytest's own words are about unknown arguments."""
    monkeypatch.setitem(command.NEEDED, "pytest-xdist", "xdist_that_is_not_there")
    result = cli("test")
    assert result.code == 1
    assert "The tests need pytest-xdist: run 'pip install" in result.err
    assert not ran
