"""Typed access to the metadata of one GGUF file: a value of the asked-for type, or an error that names key and file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from engine.errors import ModelFileError


def refuse(path: Path, what: str) -> NoReturn:
    """Raise `ModelFileError`: the file's name, then `what`, on one line whatever the file put into it."""
    text = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in f"{path.name} {what}.")
    raise ModelFileError(text) from None


class GgufMetadata:
    """The key-value pairs of the GGUF file `path`. A `default` of None makes the key required."""

    def __init__(self, values: Mapping[str, Any], path: Path) -> None:
        self._values = values
        self.path = path

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def text(self, key: str, default: str | None = None) -> str:
        """A string."""
        value = self._get(key, default)
        return value if isinstance(value, str) else self._wrong(key, value, "text")

    def whole(self, key: str, default: int | None = None) -> int:
        """A whole number; a float that is one counts."""
        value = self._get(key, default)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            self._wrong(key, value, "a whole number")
        return value

    def number(self, key: str, default: float | None = None) -> float:
        """A number."""
        value = self._get(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float):
            self._wrong(key, value, "a number")
        return float(value)

    def texts(self, key: str) -> list[str]:
        """A list of strings."""
        value = self._get(key, None)
        return value if isinstance(value, list) else self._wrong(key, value, "a list of texts")

    def wholes(self, key: str) -> list[int]:
        """A list of whole numbers."""
        value = self._get(key, None)
        if not isinstance(value, np.ndarray) or value.dtype.kind not in "iu":
            return self._wrong(key, value, "a list of whole numbers")
        return [int(n) for n in value.tolist()]

    def fail(self, what: str) -> NoReturn:
        """Raise `ModelFileError` about this file; `what` follows its name and ends without a full stop."""
        refuse(self.path, what)

    def _get(self, key: str, default: Any) -> Any:
        if key in self._values:
            return self._values[key]
        if default is None:
            self.fail(f"lacks the metadata {key!r}, which conversion needs; use a complete GGUF file")
        return default

    def _wrong(self, key: str, value: Any, wanted: str) -> NoReturn:
        shown = repr(value) if isinstance(value, str | int | float) else type(value).__name__
        self.fail(f"is damaged: metadata {key!r} should be {wanted} and is {shown[:60]}")
