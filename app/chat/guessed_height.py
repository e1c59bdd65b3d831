"""How tall a message may be, guessed from its text. Makes no widget."""

from __future__ import annotations

from functools import lru_cache

from PySide6.QtGui import QFontMetricsF

from app.theme import theme


def guessed_height(text: str, width: int) -> int:
    """Height in pixels that a message of this text may have, without making it."""
    across, down = _letter(theme().font_size)
    per_line = max(10.0, (width - 40) / across)
    lines = text.count("\n") + 1
    rows = max(lines, len(text) / per_line + lines / 2)  # each line is cut somewhere in its last row
    return int(rows * down * 1.2) + 70


@lru_cache
def _letter(_size: float) -> tuple[float, float]:
    """Average width of a letter and distance of two lines, in pixels, at a size of the theme's font."""
    metrics = QFontMetricsF(theme().font())
    return metrics.averageCharWidth(), metrics.lineSpacing()
