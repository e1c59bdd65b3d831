"""Who may import whom, read from the source: what import-linter cannot say."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
WINDOW = ("PySide6", "shiboken6", "pyqtgraph")
# Plain data that a window shows and a trace holds; everything else of the engine comes through `engine` itself.
PLAIN_DATA = {"engine", "engine.config", "engine.errors", "engine.progress", "engine.trace", "engine.trace_json"}


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """(line, module) of every import, also those inside functions."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.lineno, node.module or ""


def found(folder: str, wrong: object) -> list[str]:
    """Imports under `folder` for which `wrong(module)` holds, as text for the failure."""
    paths = sorted((ROOT / folder).rglob("*.py"))
    assert paths
    return [
        f"{path.relative_to(ROOT)}:{line} imports {module}"
        for path in paths
        for line, module in imports(path)
        if wrong(module)  # type: ignore[operator]
    ]


def is_under(module: str, *tops: str) -> bool:
    """Whether a module is one of `tops` or inside one."""
    return module.partition(".")[0] in tops


def test_app_sees_only_the_engine_s_face() -> None:
    """A front end that reaches into the engine's rooms breaks when they are rebuilt."""
    assert not found("app", lambda m: is_under(m, "engine") and m not in PLAIN_DATA)


def test_the_command_line_takes_everything_from_engine_itself() -> None:
    """The command line is the example of a front end: one door."""
    assert not found("app/cli", lambda m: is_under(m, "engine") and m != "engine")


def test_the_engine_knows_no_front_end() -> None:
    """It runs where there is no Qt."""
    assert not found("engine", lambda m: is_under(m, "app", *WINDOW))


def test_the_command_line_loads_no_qt_by_itself() -> None:
    """`chat` runs on a machine without Qt's system libraries; only opening the window asks for them."""
    allowed = "app.window"
    assert not found("app/cli", lambda m: is_under(m, *WINDOW) or (m.startswith("app.window") and m != allowed))
    program = (
        "import sys, app.cli.main as m; m.build_parser(); print([n for n in sys.modules if n.startswith('PySide')])"
    )
    assert _run(program) == "[]"


@pytest.mark.parametrize(("folder", "extra"), [("app", None), ("engine", "train"), ("tests", "test")])
def test_what_is_imported_is_a_declared_requirement(folder: str, extra: str | None) -> None:
    """A package that happens to be there, through another one, is missing on the next machine."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = project["dependencies"] + project["optional-dependencies"].get(extra, [])
    declared = {_plain(re.match(r"[\w.-]+", requirement).group()) for requirement in wanted}  # type: ignore[union-attr]
    owners = metadata.packages_distributions()
    ours = {*sys.stdlib_module_names, "app", "engine", "tests", "main", ""}

    def undeclared(module: str) -> bool:
        top = module.partition(".")[0]
        return top not in ours and not declared & {_plain(name) for name in owners.get(top, [top])}

    allowed = ("imports shiboken6",)  # PySide6's own half
    if folder == "app":
        allowed += ("imports pytest",)  # `test` asks first
    assert not [line for line in found(folder, undeclared) if not line.endswith(allowed)]


def _plain(name: str) -> str:
    """A distribution's name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


@pytest.mark.parametrize(
    ("path", "call"),
    [("app/cli/window.py", "open_window"), ("app/cli/test.py", "run_tests")],
)
def test_onnxruntime_comes_before_qt_where_qt_is_loaded(path: str, call: str) -> None:
    """On Windows, Qt's DLLs loaded first keep ONNX Runtime from loading."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    function = next(n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == call)
    nodes = [node for node in ast.walk(function) if isinstance(node, ast.Import | ast.ImportFrom)]
    nodes.sort(key=lambda node: node.lineno)
    names = [node.names[0].name if isinstance(node, ast.Import) else node.module for node in nodes]
    first_qt = next(names.index(n) for n in names if n in ("app.window", "pytest"))
    assert names.index("onnxruntime") < first_qt


def test_main_loads_onnxruntime_and_no_qt_before_the_window() -> None:
    """The real order, in a real process: when the window's module is imported, ONNX Runtime is there and Qt is not."""
    program = """
import os, runpy, sys, types
os.environ["EYRIE_NO_BOOTSTRAP"] = "1"
os.environ["QT_QPA_PLATFORM"] = "offscreen"
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "app.window":
            import importlib.machinery
            return importlib.machinery.ModuleSpec(name, self)
    def create_module(self, spec):
        return None
    def exec_module(self, module):
        qt = any(name.startswith("PySide6") for name in sys.modules)
        module.run = lambda argv: 40 + ("onnxruntime" in sys.modules) + 2 * qt
sys.meta_path.insert(0, Finder())
sys.argv = ["main.py"]
try:
    runpy.run_path("main.py", run_name="__main__")
except SystemExit as leaving:
    print(leaving.code)
"""
    assert _run(program) == "41"


def test_main_says_when_onnxruntime_cannot_be_imported() -> None:
    """An environment without the requirements gets a sentence."""
    program = """
import os, runpy, sys
os.environ["EYRIE_NO_BOOTSTRAP"] = "1"
sys.modules["onnxruntime"] = None
sys.argv, sys.stderr = ["main.py"], sys.stdout
try:
    runpy.run_path("main.py", run_name="__main__")
except SystemExit as leaving:
    print(leaving.code)
"""
    said = _run(program).splitlines()
    assert said[-1] == "1"
    assert "pip install -e ." in said[0]


def _run(program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
