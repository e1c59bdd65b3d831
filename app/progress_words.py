"""How far a long step is, in words. No Qt."""

from __future__ import annotations

from engine import Progress

FEW = 5  # parts that are worth counting


def amount(progress: Progress) -> str:
    """`34 of 93 MB`, `7 of 30`, `12 MB`, or "" when there is nothing worth saying."""
    if progress.unit == "B":
        if progress.total > 0:
            return f"{progress.done / 1e6:.0f} of {progress.total / 1e6:.0f} MB"
        return f"{progress.done / 1e6:.0f} MB" if progress.done else ""
    return f"{progress.done} of {progress.total}" if progress.total >= FEW else ""
