"""Without PyTorch everything but training works, and training says what is missing."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from engine.errors import ConfigError
from engine.training import needs_torch

ROOT = Path(__file__).resolve().parents[3]
WITHOUT_TORCH = """
import importlib.abc, sys
class Absent(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
from importlib import util
find = util.find_spec
util.find_spec = lambda name, *rest: None if name.partition(".")[0] == "torch" else find(name, *rest)
"""


def python(program: str) -> subprocess.CompletedProcess[str]:
    """Run a program in the project's folder, with PyTorch hidden from it."""
    command = [sys.executable, "-c", WITHOUT_TORCH + program]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)


def test_train_says_that_pytorch_is_missing(tmp_path: Path) -> None:
    """One sentence with the command that helps, exit code 1, no traceback."""
    (tmp_path / "m").mkdir()
    done = python(f"from app.cli.main import main; sys.exit(main(['train', {str(tmp_path / 'm')!r}]))")
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "needs PyTorch" in done.stderr
    assert "pip install torch" in done.stderr


def test_help_needs_no_pytorch() -> None:
    """A person reads first and installs afterwards."""
    done = python("from app.cli.main import main; sys.exit(main(['train', '--help']))")
    assert done.returncode == 0
    assert "--hours" in done.stdout


def test_the_engine_never_loads_pytorch_by_itself() -> None:
    """It takes seconds and hundreds of megabytes; a chat has no use for it."""
    code = "import sys, engine, engine.training, app.cli.train; print('torch' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout.strip() == "False"


def test_only_training_imports_pytorch() -> None:
    """Anywhere else it would be a hidden requirement."""
    for path in [*(ROOT / "engine").rglob("*.py"), *(ROOT / "app").rglob("*.py")]:
        nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        names = [a.name for node in nodes if isinstance(node, ast.Import) for a in node.names]
        assert "torch" not in names or path.parent.name == "training", path


@pytest.mark.parametrize(
    "pick", [lambda: needs_torch.pick_device("tpu"), lambda: needs_torch.pick_format("int4", "cpu")]
)
def test_unknown_devices_and_formats(pick: object) -> None:
    """The known ones are listed."""
    with pytest.raises(ConfigError, match="use one of"):
        pick()  # type: ignore[operator]
