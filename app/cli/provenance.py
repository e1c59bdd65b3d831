"""Colours each piece of a reply by how its tokens came. Knows terminal colours and token sources; no model.

Okabe-Ito colours, each doubled by a style: accepted draft blue and underlined, the target's own token after a draft
orange and bold; plain decoding and the first token as they are.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Mapping

from app.cli.terminal import harmless
from engine import Token

_RESET = "\x1b[0m"
# (24-bit, 256 colours) of #0072B2 and #E69F00
_STYLES: dict[str, tuple[str, str]] = {
    "draft": ("4;38;2;0;114;178", "4;38;5;25"),
    "bonus": ("1;38;2;230;159;0", "1;38;5;178"),
    "correction": ("1;38;2;230;159;0", "1;38;5;178"),
}


class Painter:
    """Text that becomes displayable, round by round, in; the same text with colours out.

    Displayable text lags behind the tokens (half characters, possible stop strings), so tokens wait in a queue until
    their text appears.
    """

    def __init__(self, on: bool, environ: Mapping[str, str] = os.environ) -> None:
        self._on = on
        self._column = 0 if environ.get("COLORTERM") in ("truecolor", "24bit") else 1
        self._waiting: deque[Token] = deque()

    def paint(self, tokens: Iterable[Token], text: str) -> str:
        """`text`, which `tokens` or earlier ones made displayable."""
        if not self._on:
            return harmless(text)
        self._waiting.extend(tokens)
        out = []
        while text and self._waiting:
            token = self._waiting.popleft()
            shown = self._part_of(token, text)
            out.append(self._styled(shown, token.source))
            text = text[len(shown) :]
        return "".join(out) + self._styled(text, "plain")

    def legend(self) -> str:
        """One line that says what the colours mean; empty without colours."""
        if not self._on:
            return ""
        return f"{self._styled('accepted draft', 'draft')}  {self._styled('decided by the model itself', 'bonus')}"

    def _part_of(self, token: Token, text: str) -> str:
        """The start of `text` that `token` made."""
        if text.startswith(token.text):
            return token.text
        if token.text.startswith(text):  # its rest is held back: it may begin a stop string
            self._waiting.appendleft(token._replace(text=token.text[len(text) :]))
            return text
        for skipped, other in enumerate(self._waiting):
            found = text.find(other.text) if other.text and "\ufffd" not in other.text else -1
            if found > 0:  # a character made of several tokens reaches up to the next one that shows whole
                for _ in range(skipped):
                    self._waiting.popleft()
                return text[:found]
        return text

    def _styled(self, text: str, source: str) -> str:
        style = _STYLES.get(source) if self._on else None
        text = harmless(text)
        if style is None or not text:
            return text
        start = f"\x1b[{style[self._column]}m"
        lines = text.split("\n")  # a style that crosses a line end paints the rest of the line on some terminals
        return "\n".join(f"{start}{line}{_RESET}" if line else "" for line in lines)
