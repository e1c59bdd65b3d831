"""WORKAROUND: keeps None, True, False and NotImplemented alive under PySide6 6.12 on Python older than 3.12.

The 6.12.0 wheel returns these without taking a reference: every call of a Qt method that returns nothing takes one from
None, every `signal.emit` one from True (measured: -100 each per 100 calls; 6.11.3 takes none). From Python 3.12 on
they are immortal and nothing happens; before that the interpreter ends with "Fatal Python error: none_dealloc" after
some thousand calls. Until there is a fixed wheel, the four get so many references that no session can use them up.
"""

from __future__ import annotations

import ctypes
import sys

SPARE = 1 << 40  # references; a busy window uses up about 10^5 a second


def keep_constants() -> None:
    """Call once, before the first Qt call."""
    if sys.version_info < (3, 12) and sys.implementation.name == "cpython":
        for constant in (None, True, False, NotImplemented):
            count = ctypes.c_ssize_t.from_address(id(constant))
            if count.value < SPARE // 2:
                count.value += SPARE
