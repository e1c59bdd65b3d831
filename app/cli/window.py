"""Opens the window, where there is one and a screen to show it on."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from engine import EyrieError

_SCREENS = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")


class NoWindow(EyrieError):
    """The window cannot open here."""


def open_window(arguments: Sequence[str]) -> int:
    """Run the window until it is closed; its exit code."""
    # ONNX Runtime before any Qt: on Windows, Qt's DLLs loaded first keep it from loading (onnxruntime#26127, #16116).
    import onnxruntime  # noqa: F401

    if sys.platform.startswith("linux") and not any(os.environ.get(name) for name in _SCREENS):
        raise NoWindow("There is no screen here (DISPLAY is not set): use 'python main.py chat' in the terminal.")
    try:
        from app.window import run
    except ImportError as error:
        if not str(error).startswith("lib"):
            raise
        library = str(error).split(":")[0]
        raise NoWindow(
            f"Qt needs the system library {library}: on Debian and Ubuntu, run 'sudo apt install libegl1 libgl1 "
            "libxkbcommon0 libdbus-1-3 libfontconfig1 libxcb-cursor0'."
        ) from error
    return run(list(arguments))
