"""Starting and ending the program: errors that nobody caught, the command line's file, the log."""

from __future__ import annotations

import sys
import threading

import pytest
from PySide6.QtCore import QTimer

import app.window
from app.log import log_path
from app.main_window import MainWindow
from app.window import UncaughtErrors, run
from engine import save_trace
from tests.fake_engine import FakeEngine
from tests.fake_turn import fake_turn


@pytest.fixture
def opened(monkeypatch, qapp):
    """The windows that `run` opens; the test says in `then` what happens, and when to close."""
    windows: list[MainWindow] = []

    class Watched(MainWindow):
        then = staticmethod(lambda window: True)

        def start(self):
            super().start()
            windows.append(self)
            self.timer = QTimer(self, interval=20)
            self.timer.timeout.connect(self.look)
            self.timer.start()
            QTimer.singleShot(20_000, self, self.close)  # never wait for ever

        def look(self):
            if Watched.then(self):
                self.timer.stop()
                self.close()

    monkeypatch.setattr(app.window, "MainWindow", Watched)
    yield Watched, windows
    for window in windows:
        window.deleteLater()


def engine():
    """A fresh fake."""
    return FakeEngine([fake_turn(1, rounds=5)])


def test_opens_and_closes(opened):
    """The exit code of an ordinary visit, and nothing left of our hooks."""
    watched, windows = opened
    watched.then = staticmethod(lambda window: window.models.state == "ready")
    assert run([], load_engine=engine) == 0
    assert windows[0].clean
    assert sys.excepthook is sys.__excepthook__


def test_replay_opens_the_file(opened, tmp_path):
    """`python main.py replay FILE`."""
    path = save_trace(tmp_path / "run.json", fake_turn(4, rounds=7))
    watched, windows = opened
    watched.then = staticmethod(lambda window: window.selection.count == 7)
    assert run(["replay", str(path)], load_engine=engine) == 0
    assert windows[0].panels.page is windows[0].panels.recording


@pytest.mark.logs
def test_error_in_a_slot_is_a_message_and_a_log_entry(opened):
    """A bug in a handler must not close the window, nor be swallowed."""
    watched, _ = opened
    said: list[str] = []

    def then(window):
        if window.models.state != "ready":
            return False
        if not said:
            said.append("")
            QTimer.singleShot(0, window, boom)
        texts = [m.text for m in window.panels.messages.messages]
        said[0] = texts[0] if texts else ""
        return bool(texts)

    watched.then = staticmethod(then)
    assert run([], load_engine=engine) == 0
    assert "ZeroDivisionError" in said[0]
    assert "\n" not in said[0]
    assert "boom" in log_path().read_text(encoding="utf-8")


def boom():
    """A bug."""
    return 1 / 0


@pytest.mark.logs
def test_errors_of_other_threads_arrive_too(qtbot):
    """In the main thread, as everything."""
    errors = UncaughtErrors()
    errors.install()
    try:
        with qtbot.waitSignal(errors.happened) as said:
            thread = threading.Thread(target=boom)
            thread.start()
            thread.join()
    finally:
        errors.remove()
    assert "ZeroDivisionError" in said.args[0]
    assert threading.excepthook is threading.__excepthook__


@pytest.mark.logs
def test_engine_that_cannot_be_imported_is_a_sentence(opened):
    """A missing library: the window is there and says so."""
    watched, windows = opened
    texts: list[str] = []

    def broken():
        raise ImportError("libfoo.so is missing")

    def then(window):
        texts[:] = [m.text for m in window.panels.messages.messages]
        return bool(texts) and window.panels.welcome.get_button.text() == "Try again"

    watched.then = staticmethod(then)
    assert run([], load_engine=broken) == 0
    assert "libfoo.so" in texts[0]
    assert windows[0].models.state == "failed"
