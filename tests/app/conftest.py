"""What every window test runs under: no display, its own data folder, and a check that nothing is left behind.

A test fails when a thread, a running timer or animation, or a top-level widget outlives it, or Qt prints a warning.
"""

from __future__ import annotations

import gc
import math
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest
import shiboken6
from PySide6.QtCore import QAbstractAnimation, QCoreApplication, QEvent, QPropertyAnimation, QThread, QTimer
from PySide6.QtWidgets import QApplication, QWidget

from app import listeners, writer
from app.engine_link import EngineLink
from app.engine_settings import EngineSettings
from app.store import Store, open_store
from app.theme import FONT_SIZE_DEFAULT, theme
from engine import save_trace
from tests.app.link_help import Ear
from tests.fake_engine import FakeEngine
from tests.fake_turn import fake_turn

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

Shown = TypeVar("Shown", bound=QWidget)

HERE = Path(__file__).parent
HARMLESS = (  # Qt messages of the display-less platform
    "This plugin does not support .*",
    "QFontDatabase: Cannot find font directory.*",
    "Populating font family aliases took.*",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Qt warnings fail the test that caused them."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.qt_log_level_fail("WARNING"))
            item.add_marker(pytest.mark.qt_log_ignore(*HARMLESS, extend=True))


@pytest.fixture(scope="module", autouse=True)
def _skip_what_is_loaded() -> None:
    """The check that nothing is left behind collects garbage three times a test: not through all that is loaded."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test may touch the user's chats."""
    monkeypatch.setenv("EYRIE_DATA", str(tmp_path / "eyrie-data"))


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A change of the look reaches everybody before the next line of a test."""
    monkeypatch.setattr(listeners, "TURN_SECONDS", math.inf)


@pytest.fixture(autouse=True)
def _written(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a write leads to is there before the next line of a test, however busy the machine is."""
    monkeypatch.setattr(writer, "PATIENCE", 20.0)


@pytest.fixture(scope="session")
def qapp(qapp: QApplication) -> QApplication:
    """The application as the program starts it: with the theme's font and style, which sizes and positions follow."""
    theme()
    return qapp


@pytest.fixture
def on_screen(qtbot) -> Callable[[Shown, int, int], Shown]:
    """Shows a widget in that width and height, and gives it back once it is on the screen."""

    def show(widget: Shown, width: int, height: int) -> Shown:
        qtbot.addWidget(widget)
        widget.resize(width, height)
        with qtbot.waitExposed(widget):
            widget.show()
        return widget

    return show


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """An empty store."""
    opened = Store(tmp_path / "data")
    yield opened
    opened.close()


@pytest.fixture
def settings(qapp) -> EngineSettings:
    """Fresh settings of the engine."""
    return EngineSettings()


class Started:
    """Everything of one class that was started while a test ran."""

    def __init__(self, cls: type, monkeypatch: pytest.MonkeyPatch) -> None:
        self._seen: list[weakref.ref] = []
        original = cls.start

        def start(instance: object, *args: object) -> None:
            self._seen.append(weakref.ref(instance))
            original(instance, *args)

        monkeypatch.setattr(cls, "start", start)

    def alive(self) -> list[object]:
        """Those that still exist on both sides."""
        return [found for ref in self._seen if (found := ref()) is not None and shiboken6.isValid(found)]


@pytest.fixture(autouse=True)
def _nothing_left(monkeypatch: pytest.MonkeyPatch):
    """Fail when something survives the test; runs after every other fixture is torn down."""
    threads = set(threading.enumerate())
    before = set(map(id, _windows()))
    timers, qthreads = Started(QTimer, monkeypatch), Started(QThread, monkeypatch)
    animations = Started(QPropertyAnimation, monkeypatch)
    yield
    monkeypatch.undo()
    _settle()
    left = [f"thread {t.name}" for t in _still_running(threads)]
    left += [f"QThread {t.objectName()!r}" for t in qthreads.alive() if t.isRunning()]
    left += [f"QTimer of {t.parent()}" for t in timers.alive() if t.isActive()]
    left += [f"animation of {a.parent()}" for a in animations.alive() if a.state() == QAbstractAnimation.State.Running]
    left += [f"window {w}" for w in _windows() if id(w) not in before]
    for window in [w for w in _windows() if id(w) not in before]:
        window.close()
        window.deleteLater()
    _settle()
    assert not left, f"left behind: {left}"


def _windows() -> list:
    return QApplication.topLevelWidgets() if QApplication.instance() else []


def _settle() -> None:
    """Let deferred deletions happen, restore the look."""
    app = QApplication.instance()
    if app is None:
        gc.collect()
        return
    gc.collect()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    app.processEvents()
    gc.collect()
    theme().set_mode("system")
    theme().set_font_size(FONT_SIZE_DEFAULT)
    deadline = time.monotonic() + 2  # a change of the look goes on for some turns of the event loop
    while any(t.isActive() for t in theme().findChildren(QTimer)) and time.monotonic() < deadline:
        app.processEvents()
        time.sleep(0.001)


def _still_running(before: set[threading.Thread]) -> list[threading.Thread]:
    deadline = time.monotonic() + 1
    while time.monotonic() < deadline:
        left = [t for t in threading.enumerate() if t not in before and not t.name.startswith("Dummy-")]
        if not left:
            return []
        time.sleep(0.01)
    return left


@pytest.fixture
def engine():
    """Two recorded turns of 12 and 5 rounds."""
    return FakeEngine([fake_turn(1, rounds=12), fake_turn(2, rounds=5)])


@pytest.fixture
def link(engine, qtbot):
    """A started link with the model loaded."""
    link = EngineLink(lambda: engine)
    link.start()
    link.load("recorded")
    qtbot.waitUntil(lambda: link.model is not None and not link.busy)
    yield link
    assert link.shut_down()


@pytest.fixture
def ear(link):
    """Listens to the link."""
    return Ear(link)


@pytest.fixture
def traces(tmp_path):
    """A recording that ships."""
    return [save_trace(tmp_path / "1-high.json", fake_turn(7, rounds=9, accept=0.9))]


@pytest.fixture
def make(qtbot, traces, tmp_path):
    """Makes windows over one data folder; closes those that are open."""
    from app.main_window import MainWindow  # dear, and few of the tests below this folder need it

    made: list[MainWindow] = []

    def build(engine: FakeEngine) -> MainWindow:
        window = MainWindow(open_store(tmp_path / "data"), EngineLink(lambda: engine), traces)
        made.append(window)
        qtbot.addWidget(window)
        window.resize(1280, 800)
        window.show()
        window.start()
        return window

    yield build
    for window in made:
        window.close()
        assert window.clean


@pytest.fixture
def window(make, engine, qtbot):
    """A window whose model is loaded, on an empty chat."""
    window = make(engine)
    qtbot.waitUntil(lambda: window.models.state == "ready" and window.panels.pane.chat > 0, timeout=5000)
    return window
