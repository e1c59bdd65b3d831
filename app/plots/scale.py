"""Where a scale ends. Knows no chart."""

from __future__ import annotations

import math


def nice(top: float) -> float:
    """The next of 1, 1.5, 2, 3, 4, 5, 6, 8 times a power of ten, so that a scale stays for a while."""
    if not top > 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(top))
    return next(step * power for step in (1, 1.5, 2, 3, 4, 5, 6, 8, 10) if step * power >= top * 0.999)
