"""What a column holds, written so that every reader can take it, and read even where the file was damaged.

A flipped bit in one row must cost that row's value, not the list of all chats.
"""

from __future__ import annotations

import json
import math
from typing import Any
from unicodedata import category

TURNING = "\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"  # marks of writing direction
LATEST = 32_503_680_000.0  # Unix seconds of the year 3000: what a calendar can still show


def clean(text: str) -> str:
    """`text` without lone surrogates, which no UTF-8 file can hold; each becomes U+FFFD."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def one_line(words: str) -> str:
    """A title: blanks as single spaces, without control characters and without those that turn the writing direction.

    A title stands in the middle of other sentences and in file names, which it must not garble.
    """
    plain = clean(words)
    if not plain.isprintable():  # most are, and looking at every character of hundreds of titles takes a while
        plain = "".join(" " if ch.isspace() else ch for ch in plain if ch.isspace() or not _unseen(ch))
    return " ".join(plain.split())


def _unseen(character: str) -> bool:
    return category(character) == "Cc" or character in TURNING


def dump(value: dict[str, Any]) -> str:
    """JSON for a column; what JSON has no word for (nan, inf) becomes null."""

    def plain(item: Any) -> Any:
        if isinstance(item, float):
            return item if math.isfinite(item) else None
        if isinstance(item, dict):
            return {str(key): plain(inner) for key, inner in item.items()}
        if isinstance(item, list | tuple):
            return [plain(inner) for inner in item]
        return item

    return json.dumps(plain(value), allow_nan=False)


def text(value: object) -> str:
    """A text column: what is not UTF-8 becomes U+FFFD."""
    if isinstance(value, str):
        return value
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else ""


def moment(value: object) -> float:
    """A time column, in Unix seconds; 0 where it holds no time."""
    return float(value) if isinstance(value, int | float) and 0 <= value <= LATEST else 0.0


def load(value: object) -> dict[str, Any]:
    """What `dump` wrote; {} where it cannot be read."""
    if value == "{}":
        return {}  # most columns, and a long chat has hundreds
    try:
        found = json.loads(text(value))
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
