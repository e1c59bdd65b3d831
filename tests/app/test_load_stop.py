"""Stop, and the end of the program, while a model loads in a call that cannot be interrupted."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from app.aside import left_behind
from app.engine_link import EngineLink
from engine.config import SamplingConfig
from engine.progress import Progress
from tests.app.link_help import HELLO, Ear, finish
from tests.fake_engine import FakeEngine
from tests.fake_turn import fake_turn

ROOT = Path(__file__).resolve().parents[2]


class Deaf(FakeEngine):
    """An engine whose loads hear nothing, as ONNX Runtime and the tokenizer do not, until `gate` opens."""

    gate: threading.Event | None = None
    began = 0
    closed = 0

    def _load(self, folder, *, progress, cancel):
        made = super()._load(folder, progress=progress)
        made.close = self._count
        self.began += 1
        if self.gate is not None:
            assert self.gate.wait(20)
            progress(Progress("Loading, too late", 1, 2))
        return made

    def _count(self):
        self.closed += 1


@pytest.fixture
def deaf():
    """That engine; what it still does at the end of the test is let go."""
    engine = Deaf([fake_turn(1, rounds=5)])
    yield engine
    if engine.gate is not None:
        engine.gate.set()
    assert not left_behind(5)


@pytest.fixture
def engine(deaf):
    """What `link` has loaded a model of."""
    return deaf


def test_stop_of_a_load_that_cannot_be_interrupted(deaf, link, qtbot):
    """It took as long as the graph took to be read. What is left of it must neither be heard nor replace a model."""
    ear, gate = Ear(link), threading.Event()
    deaf.gate = gate
    job = link.load("second")
    qtbot.waitUntil(lambda: deaf.began == 2)
    began = time.perf_counter()
    link.stop(job)
    finish(qtbot, ear, job)
    assert time.perf_counter() - began < 0.2
    assert ear.failures == [(job, "Stopped.", "", True)]
    turn = link.generate(HELLO, SamplingConfig())  # with the model that was there
    finish(qtbot, ear, turn)
    assert len(ear.rounds(turn)) == 5
    deaf.gate = None
    third = link.load("third")
    finish(qtbot, ear, third)
    assert link.model.folder.name == "third"
    assert deaf.closed == 1  # the first one
    gate.set()
    qtbot.waitUntil(lambda: deaf.closed == 2)
    assert not any("too late" in step.step for step in ear.progress)
    assert link.model.folder.name == "third"


def test_what_is_quick_is_done_while_a_load_hears_nothing(deaf, link, qtbot):
    """A renamed chat waited until the graph was read."""
    ear, deaf.gate = Ear(link), threading.Event()
    link.load("second")
    qtbot.waitUntil(lambda: deaf.began == 2)
    task = link.run(lambda: "renamed")
    finish(qtbot, ear, task)
    assert ear.answers[task] == "renamed"


def test_shutdown_during_a_load_that_hears_nothing(deaf, qtbot):
    """The window closes within a second whatever it is doing; what is left of the load is not waited for."""
    deaf.gate = threading.Event()
    link = EngineLink(lambda: deaf)
    link.start()
    link.load("recorded")
    qtbot.waitUntil(lambda: deaf.began == 1)
    began = time.perf_counter()
    assert link.shut_down()
    assert time.perf_counter() - began < 0.5
    assert left_behind(0)


PROGRAM = """
import sys, time
from PySide6.QtCore import QTimer
import app.window
from app.main_window import MainWindow
from tests.fake_turn import fake_turn
from tests.app.test_load_stop import Deaf, threading

engine = Deaf([fake_turn(1, rounds=5)])
engine.gate = threading.Event()

class Closing(MainWindow):
    def start(self):
        super().start()
        self.timer = QTimer(self, interval=10)
        self.timer.timeout.connect(self.look)
        self.timer.start()

    def look(self):
        if engine.began:
            self.timer.stop()
            print(time.time(), flush=True)
            self.close()

app.window.MainWindow = Closing
sys.exit(app.window.run([], load_engine=lambda: engine))
"""


@pytest.mark.alone
def test_the_program_ends_without_waiting_for_such_a_load(tmp_path):
    """Python waits for every thread at its end, and that one would go on for 20 seconds here."""
    env = os.environ | {"EYRIE_DATA": str(tmp_path), "QT_QPA_PLATFORM": "offscreen"}
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert "did not stop" not in done.stderr
    assert time.time() - float(done.stdout) < 1
