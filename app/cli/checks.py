"""One finding of `doctor`: good, bad with a way to mend it, or just a fact."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TextIO

from app.cli.terminal import harmless, plain_marks


@dataclass(frozen=True, slots=True)
class Check:
    """`ok` None: neither good nor bad. `mend`: what to do, for a bad one."""

    ok: bool | None
    text: str
    mend: str = ""

    def __str__(self) -> str:
        mark = {True: "✓", False: "✗", None: "·"}[self.ok]
        return f"{mark} {self.text}" + (f": {self.mend}" if self.mend and not self.ok else "")


def show(checks: Iterable[Check], out: TextIO) -> bool:
    """Print each as soon as it is known; whether none is bad."""
    fine = True
    for check in checks:
        print(plain_marks(harmless(str(check)), out), file=out, flush=True)
        fine = fine and check.ok is not False
    return fine


def size(count: int) -> str:
    """Bytes as a person reads them."""
    amount = float(count)
    for unit in ("B", "kB", "MB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}"
        amount /= 1000
    return f"{amount:.1f} GB"
