"""Written conversations on the disk: files of a few hundred in a folder, each whole or not there, states beside them.

Knows nothing of how conversations are made.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from engine.training.conversations import Conversation, DataSet, read_file, write_file
from engine.training.state_rows import Rows, RowWriter

PART = 200  # conversations of a file


class TextParts:
    """The parts of a folder, and the one that is being filled.

    `states`: a name for the hidden states, which then come with every conversation and lie beside each part; "" none.

    Attributes:
        count: files that are complete.
    """

    def __init__(self, folder: Path, states: str = "") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._states = folder, states
        self.count = len(parts_of(folder))
        self._new: list[Conversation] = []
        self._rows: RowWriter | None = None  # of the part that is being filled

    def stored(self) -> Iterator[Conversation]:
        """What the files hold."""
        for path in parts_of(self._folder):
            data = read_file(path)
            yield from (data[i] for i in range(len(data)))

    def add(self, conversation: Conversation, rows: Rows | None) -> None:
        """Keep a conversation and its states [tokens]; they are on the disk after `save`."""
        if rows is not None:
            self._rows = self._rows or RowWriter(self._path)
            self._rows.add(rows)
        self._new.append(conversation)

    @property
    def full(self) -> bool:
        """Whether there is enough for a file."""
        return len(self._new) >= PART

    def save(self) -> None:
        """Write what was added as the next part, if there is anything."""
        if not self._new:
            return
        path = self._path
        if self._rows is not None:
            self._rows.finish(self._states)
            self._rows = None
        write_file(path, DataSet.of(self._new))
        self._new = []
        self.count += 1

    @property
    def _path(self) -> Path:
        return self._folder / f"part-{self.count:05d}.npz"


def parts_of(folder: Path) -> list[Path]:
    """Files that a writer has made, in order."""
    return sorted(folder.glob("part-*.npz"))


def have_tokens(folder: Path) -> int:
    """Tokens in the parts of a folder."""
    return sum(read_file(path).tokens for path in parts_of(folder))
