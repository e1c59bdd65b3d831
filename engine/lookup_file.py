"""The user's own text that lookahead drafts from, as tokens. Knows the file; nothing of n-grams."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engine.config import LOOKUP_FILE
from engine.errors import ConfigError

LIMIT = 1_000_000  # bytes; a scan of it takes about a tenth of a millisecond, several times a round
_NOTHING = np.zeros(0, np.int32)


class LookupFile:
    """Reads `lookup_file` once for every state of the file. `folder`: what a relative path starts from."""

    def __init__(self, folder: Path, encode: Callable[[str], list[int]]) -> None:
        self._folder = folder
        self._encode = encode
        self._known: tuple[Path, int, int] | None = None
        self._tokens = _NOTHING

    def tokens(self, name: str) -> NDArray[np.int32]:
        """Its tokens [N]. "" is no file, and the default name may be missing; all else raises `ConfigError`."""
        path = self._folder / Path(name).expanduser()
        if not name or (name == LOOKUP_FILE and not path.exists()):
            return _NOTHING
        try:
            stat = path.stat()
            known = (path, stat.st_size, stat.st_mtime_ns)
            if known != self._known:
                self._tokens = self._read(path, stat.st_size)
                self._known = known
        except OSError as error:
            reason = error.strerror or error
            raise ConfigError(f"lookup_file {path} cannot be read ({reason}): give the path of a text file.") from error
        return self._tokens

    def _read(self, path: Path, size: int) -> NDArray[np.int32]:
        if size > LIMIT:
            raise ConfigError(f"lookup_file {path} has {size / 1e6:.1f} MB: give a text of at most {LIMIT / 1e6:g} MB.")
        try:
            text = path.read_text(encoding="utf-8-sig")
        except UnicodeDecodeError as error:
            raise ConfigError(f"lookup_file {path} is not UTF-8 text: save it as UTF-8.") from error
        return np.array(self._encode(text), np.int32)
