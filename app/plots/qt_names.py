"""Has Qt's classes made in the main thread, before another thread imports pyqtgraph, which touches every one of them.

PySide6 makes a class when its name is first looked up. Made in another thread while the main thread was in Qt, they
ended the program: three times in some 250 windows on a busy machine, each time in pyqtgraph's copying of Qt's names.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from importlib import import_module

COPIED = ("QtCore", "QtGui", "QtWidgets")  # by pyqtgraph, name by name
IMPORTED = ("QtSvg", "QtOpenGLWidgets", "QtTest")  # by pyqtgraph, where they are there


def make_names() -> Iterator[None]:
    """Make everything; a stop after each class, of 0.1 s together. Quick where it is made already."""
    for name in IMPORTED:
        with contextlib.suppress(ImportError):
            import_module(f"PySide6.{name}")
        yield
    for module in [import_module(f"PySide6.{name}") for name in COPIED]:
        for name in dir(module):
            getattr(module, name)
            yield
