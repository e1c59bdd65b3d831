"""The installed Qt binding must be one that keeps Python alive."""

from __future__ import annotations

import sys

import PySide6
from PySide6.QtCore import QObject


def test_calls_into_qt_keep_the_references_of_none():
    """PySide6 6.12.0 on Python below 3.12 loses one reference to None per call and aborts after some thousand calls."""
    thing = QObject()
    before = sys.getrefcount(None)
    for _ in range(200):
        thing.setObjectName("a")
    lost = before - sys.getrefcount(None)
    assert lost < 100, f"PySide6 {PySide6.__version__} loses references to None: install PySide6-Essentials 6.11.x"
