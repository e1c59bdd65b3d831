"""Measures how long `python main.py` takes to its first painted window, on a real screen.

    python -m tests.app.first_window [--runs 5] [--data FOLDER]

Each run is a process of its own; `--data` opens the chats in a folder, else every run begins without any. Prints
milliseconds since the process was started, at four points. Python must be allowed to keep compiled files.
"""

from __future__ import annotations

import argparse
import json
import os
import runpy
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
BEGAN = "EYRIE_BEGAN"  # environment variable: when the process was started, in seconds since 1970
STAY_MS = 200


def child() -> None:
    """Start main.py with a window that writes down when things happen, and closes after its first picture."""
    marks: dict[str, int] = {}

    def mark(name: str) -> None:
        marks.setdefault(name, round(1000 * (time.time() - float(os.environ[BEGAN]))))

    mark("Python runs")
    import onnxruntime  # noqa: F401  (before Qt, as main.py does)
    from PySide6.QtCore import QTimer

    import app.window
    from app.first_paint import FirstPaint

    mark("imported")

    class Watched(app.window.MainWindow):  # type: ignore[misc]
        def show(self) -> None:
            mark("built")
            first = FirstPaint(self)
            first.done.connect(lambda: mark("painted"))
            first.done.connect(lambda: QTimer.singleShot(STAY_MS, self.close))
            super().show()

    app.window.MainWindow = Watched  # type: ignore[misc]
    sys.argv = ["main.py"]
    try:
        runpy.run_path(str(ROOT / "main.py"), run_name="__main__")
    finally:
        print(json.dumps(marks))


def main(argv: Sequence[str] | None = None) -> None:
    """Print one line per run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--data", help="a folder with chats")
    options = parser.parse_args(argv)
    command = [sys.executable, "-c", "from tests.app.first_window import child; child()"]
    for _ in range(options.runs):
        with tempfile.TemporaryDirectory() as empty:
            env = {**os.environ, "EYRIE_DATA": options.data or empty, "EYRIE_NO_BOOTSTRAP": "1"}
            env.pop("PYTHONDONTWRITEBYTECODE", None)
            env[BEGAN] = repr(time.time())
            done = subprocess.run(command, cwd=ROOT, env=env, check=False, capture_output=True, text=True)
        print(done.stdout.strip() or done.stderr, flush=True)


if __name__ == "__main__":
    main()
