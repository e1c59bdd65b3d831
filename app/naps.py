"""Short rests in long Python work beside the main thread: each call of Qt lets another thread run, and the main thread
gets its turn back only when that one rests or half a millisecond is over. Knows nothing about the work.
"""

from __future__ import annotations

import time

WORK, NAP = 0.0004, 0.0002  # seconds: after so much work, so long a rest; hundreds of calls of Qt fit into one


class Naps:
    """Call it between small parts of the work."""

    def __init__(self) -> None:
        self._since = time.perf_counter()

    def __call__(self) -> None:
        """Rest, if there was none for a while."""
        if time.perf_counter() - self._since >= WORK:
            time.sleep(NAP)
            self._since = time.perf_counter()
