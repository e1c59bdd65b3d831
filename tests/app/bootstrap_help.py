"""A project that starts for the first time, with what would change the machine replaced."""

from __future__ import annotations

import importlib.util
import shutil
import types
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


SOURCE = ROOT / "app" / "bootstrap.py"


class Executed(BaseException):
    """Instead of becoming another process."""


class Commands:
    """Instead of venv and pip: keeps what was run, makes the files that would be made, fails on demand."""

    def __init__(self, module: types.ModuleType) -> None:
        self.ran: list[str] = []
        self.fail: dict[str, str] = {}  # what the first step with this word in it prints before it fails
        self._module = module

    def __call__(self, command: list[str], **options: object) -> Commands:
        line = " ".join(map(str, command))
        self.ran.append(line)
        self.stdout: list[bytes] = []
        self.returncode = 0
        for word, output in self.fail.items():
            if word in line:
                self.stdout = [part.encode() + b"\n" for part in output.split("\n")]
                self.returncode = 1
        if "-m venv" in line:
            shutil.rmtree(self._module.VENV, ignore_errors=True)
            self._module.PYTHON.parent.mkdir(parents=True)
            self._module.PYTHON.touch()
        return self

    def __enter__(self) -> Commands:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class Project:
    """A copy of the bootstrap in a folder of its own, with venv, pip and exec replaced."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        (folder / "app").mkdir()
        for name in (SOURCE.name, "installed.py"):
            shutil.copy(SOURCE.with_name(name), folder / "app")
        self.needs("no-such-package-anywhere>=1")
        self.module = load(folder / "app" / "bootstrap.py")
        self.commands = Commands(self.module)
        self.patch = monkeypatch
        monkeypatch.delenv("EYRIE_NO_BOOTSTRAP", raising=False)
        monkeypatch.delenv("EYRIE_INSIDE", raising=False)
        monkeypatch.setattr(self.module, "Popen", self.commands)
        monkeypatch.setattr(self.module.os, "execv", self._execv)
        self.became: list[str] = []

    def _execv(self, _: str, command: list[str]) -> None:
        self.became = command
        self.patch.delenv("EYRIE_INSIDE")
        raise Executed

    def needs(self, *requirements: str) -> None:
        """Write pyproject.toml."""
        text = f"[project]\ndependencies = {list(requirements)}\n[project.optional-dependencies]\ntest = ['pytest']\n"
        (self.folder / "pyproject.toml").write_text(text)

    def start(self, *arguments: str) -> list[str]:
        """Run until it becomes the program inside `.venv`; what was run on the way."""
        self.commands.ran.clear()
        with pytest.raises(Executed):
            self.module.enter(list(arguments))
        assert self.became == [str(self.module.PYTHON), str(self.folder / "main.py"), *arguments]
        return list(self.commands.ran)

    def sentence(self, *arguments: str) -> str:
        """Run until it gives up with exit code 1; what it says."""
        with pytest.raises(SystemExit) as leaving:
            self.module.enter(list(arguments))
        assert isinstance(leaving.value.code, str)
        return leaving.value.code


def load(path: Path) -> types.ModuleType:
    """Import a copy of the bootstrap."""
    spec = importlib.util.spec_from_file_location("bootstrap_copy", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
