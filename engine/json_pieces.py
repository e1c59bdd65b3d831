"""JSON of any size without holding up other threads: Python's decoder lets none run until it has read everything.

Knows JSON, and nothing of what it means.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

_SPACE = re.compile(r"[ \t\n\r]*")


def loads_in_pieces(text: str, constant: Callable[[str], Any], between: Callable[[], None]) -> Any:
    """What `json.loads` returns, or its `ValueError`. An object is read member by member, and a list in it element by
    element.

    `constant`: called with NaN, Infinity or -Infinity. `between`: called after each piece; what it raises ends it.
    """
    return _Pieces(text, json.JSONDecoder(parse_constant=constant), between).document()


class _Pieces:
    def __init__(self, text: str, decoder: json.JSONDecoder, between: Callable[[], None]) -> None:
        self._text, self._decoder, self._between = text, decoder, between
        self._at = 0

    def document(self) -> Any:
        value = self._object() if self._next() == "{" else self._value()
        if self._next():
            raise self._error("Extra data")
        return value

    def _object(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        self._at += 1
        while self._next() != "}" or found:
            if self._next() != '"':
                raise self._error("Expecting property name enclosed in double quotes")
            key = self._value()
            self._take(":")
            found[key] = self._list() if self._next() == "[" else self._value()
            if not self._goes_on("}"):
                return found
        self._at += 1
        return found

    def _list(self) -> list[Any]:
        found: list[Any] = []
        self._at += 1
        while self._next() != "]" or found:
            found.append(self._value())
            if not self._goes_on("]"):
                return found
        self._at += 1
        return found

    def _value(self) -> Any:
        self._next()
        value, self._at = self._decoder.raw_decode(self._text, self._at)
        self._between()
        return value

    def _goes_on(self, end: str) -> bool:
        """Step over a comma, or over the end."""
        if self._next() == end:
            self._at += 1
            return False
        self._take(",")
        return True

    def _take(self, sign: str) -> None:
        if self._next() != sign:
            raise self._error(f"Expecting {sign!r} delimiter")
        self._at += 1

    def _next(self) -> str:
        """The next sign that is no space, or "" at the end."""
        space = _SPACE.match(self._text, self._at)
        self._at = space.end() if space else self._at
        return self._text[self._at : self._at + 1]

    def _error(self, what: str) -> json.JSONDecodeError:
        return json.JSONDecodeError(what, self._text, self._at)
