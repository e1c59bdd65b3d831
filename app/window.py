"""Starts the window: application, log, uncaught errors, store, engine; and ends all of them."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path
from types import TracebackType

from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtWidgets import QApplication

from app.aside import left_behind
from app.chat.warm_up import warm_up
from app.engine_api import EngineLoader, real_engine
from app.engine_link import EngineLink
from app.first_paint import FirstPaint
from app.garbage import Garbage
from app.log import log_path, start_log, stop_log, unexpected
from app.main_window import MainWindow
from app.store import open_store
from app.theme import theme
from app.watchdog import Watchdog

SWITCH_SECONDS = 0.0001  # neither thread, engine's or main, must wait Python's usual 5 ms for the other one
LEFT_SECONDS = 0.2  # for a load that was stopped to end, before the program ends without it


class UncaughtErrors(QObject):
    """Errors that nobody caught, from any thread, as a signal in the main thread.

    Signals:
        happened(str, str): one sentence, and the traceback.
    """

    happened = Signal(str, str)

    def install(self) -> None:
        """Take the place of the interpreter's own hooks."""
        sys.excepthook = self._main
        threading.excepthook = self._thread

    def remove(self) -> None:
        """Give it back."""
        sys.excepthook = sys.__excepthook__
        threading.excepthook = threading.__excepthook__

    def _main(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if issubclass(kind, KeyboardInterrupt):
            QApplication.quit()
            return
        self.happened.emit(*unexpected(error.with_traceback(trace), "using the window"))

    def _thread(self, args: threading.ExceptHookArgs) -> None:
        if args.exc_value is not None:
            self.happened.emit(*unexpected(args.exc_value, "working in the background"))


def run(argv: list[str], *, load_engine: EngineLoader = real_engine) -> int:
    """Open the window and stay until it is closed; returns the exit code.

    `argv`: nothing, or "replay" and the file of a recorded run to open.
    """
    sys.setswitchinterval(SWITCH_SECONDS)
    app = QApplication.instance() or QApplication(["eyrie"])
    assert isinstance(app, QApplication)
    app.setApplicationName("Eyrie")
    app.setDesktopFileName("eyrie")
    start_log()
    theme()
    errors = UncaughtErrors()
    store = open_store()
    window = MainWindow(store, EngineLink(load_engine))
    errors.happened.connect(window.complain)
    errors.install()
    watchdog = _watchdog()
    interrupts = QTimer(interval=500)  # lets Python see Ctrl+C in the terminal
    interrupts.timeout.connect(lambda: None)
    interrupts.start()
    window.show()
    first = FirstPaint(window)
    first.done.connect(window.start)
    first.done.connect(warm_up)
    if argv[:1] == ["replay"] and len(argv) > 1:
        first.done.connect(lambda: window.files.open_trace(Path(argv[1])))
    garbage = Garbage(lambda: window.turns.running or window.link.busy, window)
    garbage.begin()
    try:
        code = app.exec()
    finally:
        errors.remove()
        garbage.end()
        interrupts.stop()
        if window.isVisible():
            window.close()
    if watchdog is not None:
        watchdog.stop()
        print(watchdog.report(), file=sys.stderr)
    stop_log()
    if not window.clean:  # a thread that does not end would crash the interpreter's own end
        print(f"The engine or the saving of chats did not end in time; see {log_path()}.", file=sys.stderr)
    if not window.clean or left_behind(LEFT_SECONDS):  # half a load is no reason to wait
        sys.stderr.flush()
        os._exit(code)
    return code


def _watchdog() -> Watchdog | None:
    if os.environ.get("EYRIE_WATCHDOG") != "1":
        return None
    watchdog = Watchdog()
    watchdog.start()
    return watchdog
