from __future__ import annotations

import sys
import types

import pytest

from app.cli.window import NoWindow, open_window


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """A window that returns 5."""
    module = types.ModuleType("app.window")
    module.run = lambda argv: 5 + len(argv)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "app.window", module)
    return module


def test_the_window_runs_and_its_exit_code_counts(built: types.ModuleType) -> None:
    """What closes the program is the window's word."""
    assert open_window(["replay", "x.json"]) == 7


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems always have a screen")
def test_without_a_screen_there_is_a_sentence(built: types.ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Qt would abort the process with a page about plugins."""
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(NoWindow, match="chat"):
        open_window([])


def test_a_missing_system_library_is_named(built: types.ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """The usual trouble on a fresh Linux: libEGL."""

    class Broken(types.ModuleType):
        def __getattr__(self, name: str) -> object:
            raise ImportError("libEGL.so.1: cannot open shared object file: No such file or directory")

    monkeypatch.setitem(sys.modules, "app.window", Broken("app.window"))
    with pytest.raises(NoWindow, match=r"libEGL.so.1: on Debian and Ubuntu, run 'sudo apt install libegl1"):
        open_window([])


def test_another_import_error_is_not_hidden(built: types.ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault of ours must reach the log."""

    class Broken(types.ModuleType):
        def __getattr__(self, name: str) -> object:
            raise ImportError("No module named 'app.lost'")

    monkeypatch.setitem(sys.modules, "app.window", Broken("app.window"))
    with pytest.raises(ImportError, match=r"app\.lost"):
        open_window([])
