"""What a terminal may be sent: text from a model made harmless, colours where they are wanted. Knows no engine."""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Mapping
from typing import Literal, TextIO

ColorChoice = Literal["auto", "always", "never"]

# C0 except tab and newline, DEL, C1, and the marks that reorder text: a model must not steer the terminal.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_MARKS = {
    "✓": "+",
    "✕": "x",
    "★": "*",
    "·": ".",
    "─": "-",
    "│": "|",
    "├": "|",
    "└": "`",
    "→": "->",
    "τ": "tau",
    "×": "x",
}


def harmless(text: str) -> str:
    """`text` with control characters written out (`\\x1b`), tabs and newlines kept."""
    return _CONTROL.sub(_written_out, text)


def quoted(text: str) -> str:
    """`text` on one line in quotes, spaces visible as they are, everything else that moves the cursor written out."""
    return '"' + harmless(text).replace("\n", "\\n").replace("\t", "\\t") + '"'


def _written_out(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def prepare_streams() -> None:
    """Let no character that the terminal's encoding lacks end the program; on Windows, understand colours."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    if os.name == "nt":
        os.system("")


def plain_marks(text: str, stream: TextIO) -> str:
    """`text` with ✓ ✕ ★ and box lines replaced by ASCII where `stream` cannot show them."""
    try:
        "".join(_MARKS).encode(stream.encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return text.translate(str.maketrans(_MARKS))
    return text


def wants_color(choice: ColorChoice, stream: TextIO, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether to colour: auto means a terminal that is not dumb, without NO_COLOR (no-color.org)."""
    if choice != "auto":
        return choice == "always"
    return stream.isatty() and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"
