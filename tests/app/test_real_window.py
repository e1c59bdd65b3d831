"""The real program on a real (virtual) screen: typed into, looked at, stepped, closed while it writes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtGui import QImage

ROOT = Path(__file__).resolve().parents[2]
SIZE = "1400x1000x24"


@pytest.fixture(scope="module")
def display() -> Iterator[str]:
    """A screen: the one there is, or a virtual one of our own."""
    if not sys.platform.startswith("linux"):
        pytest.skip("the virtual screen is an X server, which is a thing of Linux")
    if os.environ.get("EYRIE_TEST_DISPLAY"):
        yield os.environ["EYRIE_TEST_DISPLAY"]
        return
    server = shutil.which("Xvfb")
    if server is None:
        pytest.skip("Xvfb is not installed: apt install xvfb")
    read, write = os.pipe()
    with tempfile.TemporaryFile() as log:
        command = [server, "-displayfd", str(write), "-screen", "0", SIZE, "-nolisten", "tcp"]
        process = subprocess.Popen(command, pass_fds=[write], stdout=log, stderr=log)
        os.close(write)
        with os.fdopen(read) as pipe:
            number = pipe.readline().strip()
        if not number:
            process.wait(10)
            pytest.skip("Xvfb is installed and does not start")
        yield f":{number}"
        process.terminate()
        process.wait(10)


def visit(display: str, out: Path, data: Path, *flags: str, seconds: int) -> dict:
    """Run the scenario; returns what it found."""
    env = os.environ | {"DISPLAY": display, "QT_QPA_PLATFORM": "xcb", "EYRIE_DATA": str(data)}
    env.pop("WAYLAND_DISPLAY", None)
    done = subprocess.run(
        [sys.executable, "-m", "tests.app.real_window", str(out), *flags],
        cwd=ROOT, env=env, capture_output=True, text=True, timeout=seconds, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert "Traceback" not in done.stderr, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def check(found: dict, out: Path) -> None:
    """What must hold with every engine."""
    assert found["platform"] == "xcb"
    assert found["done"]
    assert found["reply"]
    assert found["rounds"] >= 3
    assert found["depth"][1] == found["depth"][0] + 1
    assert found["steps"][:3] == ["root", "level", "level"]
    assert found["phases"] == ["root", "level", "level"]
    assert found["closing_seconds"] < 5  # the whole program's end; the engine's own is tested elsewhere
    for name in ("start", "streaming", "stepped", "dark", "engine-waits"):
        image = QImage(str(out / f"{name}.png"))
        colors = {image.pixel(x, y) for x in range(0, image.width(), 9) for y in range(0, image.height(), 9)}
        assert image.width() >= 1000, name
        assert len(colors) > 20, f"{name} is an empty picture"
    light, dark = (QImage(str(out / f"{name}.png")).scaled(1, 1).pixelColor(0, 0) for name in ("stepped", "dark"))
    assert dark.lightness() < light.lightness() / 2


def test_program_on_a_screen(display, tmp_path):
    """With recordings for an engine: everything but the model is real."""
    found = visit(display, tmp_path / "shots", tmp_path / "data", seconds=120)
    check(found, tmp_path / "shots")
    assert "heron" in found["reply"]


@pytest.mark.model
def test_program_on_a_screen_with_the_default_model(display, tmp_path):
    """The whole thing, on the model a user gets."""
    found = visit(display, tmp_path / "shots", tmp_path / "data", "--real", seconds=900)
    check(found, tmp_path / "shots")
