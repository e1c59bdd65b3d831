"""The file of `tests.exact_grid`: one JSON object per run, added to as runs end, and its summary. Knows no engine."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Self

from app.cli.bench_table import table

KEYS = ("model", "precision", "prompt", "setting", "temperature", "seed", "new_tokens")
SHOWN_DIFFERENCES = 20

Line = dict[str, Any]


class ResultFile:
    """Lines of earlier runs, and a place for more. A line that a killed run left unfinished is cut off.

    The file is written only by `add`: looking at it while another process fills it is safe.
    """

    def __init__(self, path: Path) -> None:
        content = path.read_bytes() if path.exists() else b""
        whole = content[: content.rfind(b"\n") + 1]
        self.lines: list[Line] = [json.loads(line) for line in whole.splitlines()]
        self._known = {_key(line): line for line in self.lines}
        self._path, self._size = path, len(whole)
        self._file: BinaryIO | None = None

    def find(self, key: Mapping[str, Any]) -> Line | None:
        """The line of that run, if it was made."""
        return self._known.get(_key(key))

    def add(self, line: Line) -> None:
        """Keep a run, on disk at once."""
        self.lines.append(line)
        self._known[_key(line)] = line
        if self._file is None:
            self._file = self._path.open("ab")
            self._file.truncate(self._size)
        self._file.write(json.dumps(line, ensure_ascii=False).encode() + b"\n")
        self._file.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._file is not None:
            self._file.close()


def _key(line: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(line[key] for key in KEYS)


def summary(lines: Iterable[Line]) -> tuple[str, int]:
    """(a table per precision and the differences, how many replies differ)."""
    compared = [line for line in lines if line["same"] is not None]
    parts = []
    for precision in dict.fromkeys(line["precision"] for line in compared):
        ours = [line for line in compared if line["precision"] == precision]
        rows = [[precision, "identical", "τ", "run again per round", "provisional", "corrected", "share"]]
        for setting in dict.fromkeys(line["setting"] for line in ours):
            rows.append(_row(setting, [line for line in ours if line["setting"] == setting]))
        parts.append(table([*rows, _row("all", ours)]))
    differing = [line for line in compared if not line["same"]]
    where = [
        f"  {d['precision']}, {d['setting']}, prompt {d['prompt']}, temperature {d['temperature']:g}: "
        f"differs from token {d['first_difference']} on"
        for d in differing[:SHOWN_DIFFERENCES]
    ]
    parts += ["\n".join(where)] if where else []
    parts.append(
        f"{len(compared) - len(differing)} of {len(compared)} replies are those of plain decoding with two rows."
    )
    return "\n\n".join(parts), len(differing)


def _row(name: str, lines: list[Line]) -> list[str]:
    """Sums of some runs as cells of the table."""
    same, rounds, emitted, replayed, provisional, corrected = (
        sum(line[key] for line in lines)
        for key in ("same", "rounds", "emitted", "replayed", "provisional", "corrected")
    )
    tau, again = (f"{n / rounds:.2f}" if rounds else "-" for n in (emitted, replayed))
    share = f"{100 * corrected / provisional:.2f} %" if provisional else "-"
    return [name, f"{same}/{len(lines)}", tau, again, str(provisional), str(corrected), share]
