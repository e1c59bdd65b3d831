from __future__ import annotations

import subprocess
import sys
from pathlib import Path

LATER = ("jinja2", "markdown_it", "pygments", "pyqtgraph", "tokenizers", "PySide6.QtSvg", "app.cli.bench", "email")


def test_the_window_s_first_picture_needs_none_of_what_is_large() -> None:
    """Each of these takes 20 to 300 ms to load, and the window has to be there within a second."""
    program = """
import sys
import app.cli.main, app.window
from PySide6.QtWidgets import QApplication
from app.engine_api import real_engine
from app.engine_link import EngineLink
from app.main_window import MainWindow
from app.store import open_store
app = QApplication(["eyrie", "-platform", "offscreen"])
window = MainWindow(open_store(), EngineLink(real_engine), traces=[])
print(*sys.modules)
window.close()
"""
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=root, check=False, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert [name for name in LATER if name in done.stdout.split()] == []
