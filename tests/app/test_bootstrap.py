from __future__ import annotations

import ast
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.app.bootstrap_help import SOURCE, Project

ROOT = Path(__file__).parents[2]
ALREADY_READ = (  # before the bootstrap has said anything
    "main.py",
    "app/__init__.py",
    "app/bootstrap.py",
    "app/installed.py",
)

OFFLINE = (
    "WARNING: Retrying after connection broken by 'NewConnectionError(...)'\nERROR: No matching distribution found"
)
NO_VENV = "The virtual environment was not created successfully because ensurepip is not\navailable."


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project that was never started."""
    return Project(tmp_path.resolve(), monkeypatch)


@pytest.mark.parametrize("name", ALREADY_READ)
def test_an_old_python_can_read_it(name: str) -> None:
    """A Python too old for Eyrie must get a sentence, not a SyntaxError."""
    ast.parse((ROOT / name).read_text(encoding="utf-8"), feature_version=(3, 6))


@pytest.mark.parametrize("name", ALREADY_READ)
def test_only_the_standard_library_is_imported(name: str) -> None:
    """Nothing else is there at the first start."""
    tree = ast.parse((ROOT / name).read_text(encoding="utf-8"))
    for node in tree.body:  # top level: what is inside functions runs after the installation
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        assert all(n.split(".")[0] in {*sys.stdlib_module_names, "app"} for n in names)


def test_it_stays_small() -> None:
    """The issue sets the size, so that a person can read it before running it."""
    assert len(SOURCE.read_text(encoding="utf-8").splitlines()) < 120


def test_an_old_python_is_told(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is made."""
    monkeypatch.setattr(project.module.sys, "version_info", (3, 9, 2))
    assert "3.11" in project.sentence()
    assert "3.9" in project.sentence()
    assert not project.commands.ran


def test_the_first_start_makes_the_environment_and_goes_there(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    """The whole point: one command, nothing before it; each step says its time, on standard error."""
    venv, pip = project.start("chat", "--prompt", "Hi")
    assert venv.endswith(f"-m venv --clear {project.module.VENV}")
    assert pip == f"{project.module.PYTHON} -m pip install -e ."
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count(" took ") == 2


def test_later_starts_run_nothing(project: Project) -> None:
    """Later starts cost nothing."""
    project.start()
    assert project.start() == []
    assert project.start("doctor") == []


def test_the_test_command_adds_what_tests_need(project: Project) -> None:
    """Once, into the same environment, and for good."""
    project.start()
    (pip,) = project.start("test", "-x")
    assert pip.endswith("install -e .[test]")
    assert project.start("test") == []
    assert project.start() == []


def test_changed_requirements_are_installed_without_remaking(project: Project) -> None:
    """After an update, only what is new is fetched, and extras stay."""
    project.start("test")
    project.needs("no-such-package-anywhere>=2")
    (pip,) = project.start()
    assert pip.endswith("install -e .[test]")


def test_a_half_made_environment_is_remade(project: Project) -> None:
    """A start killed in the middle leaves no `eyrie-ready`."""
    project.commands.fail = {"pip": "killed"}
    project.sentence()
    assert project.module.PYTHON.exists()
    project.commands.fail = {}
    assert len(project.start()) == 2


def test_a_failed_update_leaves_the_old_state(project: Project) -> None:
    """Adding the tests' packages offline must not break the program."""
    project.start()
    project.commands.fail = {"pip": OFFLINE}
    project.sentence("test")
    assert project.start() == []


def test_a_moved_folder_or_another_python_is_remade(project: Project, tmp_path: Path) -> None:
    """Scripts and the project's place in an environment are absolute."""
    project.start()
    ready = project.folder / ".venv" / "eyrie-ready"
    _, *rest = ready.read_text().split()
    ready.write_text(" ".join(["another-place", *rest]))
    assert len(project.start()) == 2


def test_a_vanished_python_is_remade(project: Project) -> None:
    """A system upgrade removes the Python that `.venv` points to."""
    project.start()
    project.module.PYTHON.unlink()
    assert len(project.start()) == 2


def test_an_environment_that_someone_made_there_is_not_cleared(project: Project) -> None:
    """`.venv` is a common name: what we did not make, we only add to."""
    project.module.PYTHON.parent.mkdir(parents=True)
    project.module.PYTHON.touch()
    mine = project.folder / ".venv" / "mine"
    mine.touch()
    (pip,) = project.start()
    assert pip.endswith("install -e .")
    assert mine.exists()


def test_an_environment_of_ones_own_is_left_alone(project: Project) -> None:
    """Whoever installed the requirements gets no second copy."""
    project.needs("pytest", "hypothesis>=6")
    project.module.enter([])
    assert not project.commands.ran
    assert sorted(p.name for p in project.folder.iterdir()) == ["app", "pyproject.toml"]


@pytest.mark.parametrize("wrong", ["hypothesis<2", "hypothesis>=6,!=6.*", "packaging>=1000"])
def test_an_environment_with_another_version_is_not_used(project: Project, wrong: str) -> None:
    """Some versions of what Eyrie needs end the process without a word: having one is not having what it needs."""
    project.needs("pytest", wrong)
    assert any("-m venv" in line for line in project.start())


def test_what_another_python_needs_is_not_asked_for(project: Project) -> None:
    """PySide6 has a line for old Pythons and one for new ones."""
    project.needs("pytest", "hypothesis>=1000; python_version < '3.0'", "hypothesis>=6; python_version >= '3.0'")
    project.module.enter([])
    assert not project.commands.ran


def test_it_can_be_switched_off(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """For packagers, and for a look at what is missing."""
    monkeypatch.setenv("EYRIE_NO_BOOTSTRAP", "1")
    project.module.enter([])
    assert not project.commands.ran


def test_it_does_not_go_round_in_circles(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Inside `.venv` it returns whatever it finds, and children of the program start afresh."""
    monkeypatch.setenv("EYRIE_INSIDE", "1")
    project.module.enter([])
    assert not project.commands.ran
    assert "EYRIE_INSIDE" not in project.module.os.environ


@pytest.mark.parametrize(
    ("step", "output", "expected"),
    [
        ("-m venv", NO_VENV, "sudo apt install python3-venv"),
        ("-m venv", "/usr/bin/python3: No module named venv", "sudo apt install python3-venv"),
        ("pip", OFFLINE, "index"),
        ("pip", "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device", "disk"),
        ("pip", "Collecting x\nERROR: broken wheel\nnote: see above", "broken wheel"),
        ("pip", "terminated", "terminated"),
        ("pip", "", "no reason given"),
    ],
)
def test_failures_are_one_sentence(project: Project, step: str, output: str, expected: str) -> None:
    """No traceback and no page of pip's output: what failed, why, what to do."""
    project.commands.fail = {step: output}
    sentence = project.sentence()
    assert expected in sentence
    assert "\n" not in sentence


def test_a_folder_that_cannot_be_written_is_one_sentence(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mounted image or another person's folder."""

    def refuse(*_: object) -> None:
        raise OSError(30, "Read-only file system", ".venv.lock")

    monkeypatch.setattr(project.module, "open", refuse, raising=False)
    sentence = project.sentence()
    assert "Read-only file system" in sentence
    assert str(project.folder) in sentence


def test_ctrl_c_ends_with_130(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """As every command does."""

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(project.module, "Popen", interrupted)
    with pytest.raises(SystemExit) as leaving:
        project.module.enter([])
    assert leaving.value.code == 130


def test_a_real_step_reports_its_last_error(project: Project, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The part that the other tests replace: a real process, its output, its exit code."""
    monkeypatch.setattr(project.module, "Popen", subprocess.Popen)
    program = "print('Collecting x'); print('ERROR: it is broken'); raise SystemExit(3)"
    with (tmp_path / "lock").open("w") as lock, pytest.raises(SystemExit, match="Trying failed: ERROR: it is broken"):
        project.module.run("Trying", [sys.executable, "-c", program], lock)


DRIVER = """
import importlib.util, pathlib, sys, time
spec = importlib.util.spec_from_file_location("copy", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)

def run(what, command, lock):
    with open(module.ROOT / "steps", "a") as file:
        file.write(f"begin {what}\\n")
    time.sleep(0.3)
    module.PYTHON.parent.mkdir(parents=True, exist_ok=True)
    module.PYTHON.touch()
    with open(module.ROOT / "steps", "a") as file:
        file.write(f"end {what}\\n")

module.run = run
module.os.execv = lambda *_: sys.exit(0)
module.enter([])
"""


def test_two_starts_at_once_install_once(project: Project, tmp_path: Path) -> None:
    """The second waits for the first, then finds everything there."""
    driver = tmp_path / "driver.py"
    driver.write_text(textwrap.dedent(DRIVER))
    command = [sys.executable, str(driver), str(project.folder / "app" / "bootstrap.py")]
    both = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    said = [process.communicate(timeout=30)[1] for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    steps = (project.folder / "steps").read_text().splitlines()
    assert [step.split()[0] for step in steps] == ["begin", "end", "begin", "end"]
    assert "waiting" in "".join(said)
