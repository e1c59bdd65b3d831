"""From tokens to displayable text, one token at a time: whole characters only, nothing of a stop string.

What is shown is never taken back. Knows bytes and stop strings; nothing of tokenizers, stop tokens or sampling.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Sequence


class StreamText:
    """Text of a growing list of tokens.

    Bytes that are no UTF-8 become U+FFFD, as in `bytes.decode(errors="replace")`, once they can no longer become a
    character. The stop string that is complete first ends the text; of several complete at the same character, the
    one that began first. Held back is the longest end of the text that may still become a stop string, and no more.
    How the text is cut into tokens makes no difference to the result.
    """

    def __init__(self, token_bytes: Callable[[int], bytes], stop: Sequence[str] = ()) -> None:
        """`token_bytes`: the exact bytes of a token; `stop`: see `set_stop`."""
        self._token_bytes = token_bytes
        self.set_stop(stop)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = ""
        self._shown: list[str] = []
        self.stopped = False

    def set_stop(self, stop: Sequence[str]) -> None:
        """Stop strings for what is not shown yet. An empty one is a `ValueError`."""
        if not all(stop):
            raise ValueError("A stop string is empty: it would end every text before its first character.")
        self._stop = tuple(dict.fromkeys(stop))

    @property
    def text(self) -> str:
        """Everything displayable so far."""
        return "".join(self._shown)

    def push(self, token: int) -> str:
        """Take the next token; returns the text that became displayable, "" while it is held back."""
        if self.stopped:
            raise RuntimeError("A stop string has ended this text: nothing may follow.")
        return self._take(self._decoder.decode(self._token_bytes(token)))

    def flush(self) -> str:
        """End of the turn: returns what was held back; the bytes of half a character become U+FFFD."""
        if self.stopped:
            return ""
        shown = self._take(self._decoder.decode(b"", final=True))
        rest, self._held = self._held, ""
        self._shown.append(rest)
        return shown + rest

    def _take(self, text: str) -> str:
        """Show what can be shown of the held text and `text`."""
        text = self._held + text
        ends = [(start + len(stop), start) for stop in self._stop if (start := text.find(stop)) >= 0]
        if ends:
            self.stopped, self._held, shown = True, "", text[: min(ends)[1]]
        else:
            cut = len(text) - max((_overlap(text, stop) for stop in self._stop), default=0)
            self._held, shown = text[cut:], text[:cut]
        self._shown.append(shown)
        return shown


def _overlap(text: str, stop: str) -> int:
    """Length of the longest end of `text` with which `stop` begins, `stop` itself excluded."""
    for length in range(min(len(text), len(stop) - 1), 0, -1):
        if text.endswith(stop[:length]):
            return length
    return 0
