from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_the_parsers_are_loaded_without_the_main_thread() -> None:
    """In the main thread they would hold the window when the first chat is opened."""
    program = """
import sys
from PySide6.QtCore import QThreadPool
from app.chat.warm_up import warm_up
before = {"markdown_it", "pygments"} & set(sys.modules)
warm_up()
QThreadPool.globalInstance().waitForDone(20_000)
print(len(before), *sorted({"markdown_it", "pygments.lexers.python"} & set(sys.modules)))
"""
    root = Path(__file__).parents[3]
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=root, check=False, capture_output=True, text=True, timeout=60
    )
    assert done.stdout.split() == ["0", "markdown_it", "pygments.lexers.python"], done.stderr
