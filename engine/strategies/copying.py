"""What followed the same tokens before: the cheapest draft there is, for text that repeats or quotes itself.

Prompt lookup (Saxena 2023) over the conversation. Knows token ids; nothing of heads, trees or the target.
"""

from __future__ import annotations

import math

import numpy as np

from engine.token_text import TokenText

_LONGEST = 16  # tokens of a match that are looked at, and most that are copied


class Copier(TokenText):
    """Keeps the text as tokens and finds where its end stood before."""

    def copied(self, position: int, least: int) -> list[tuple[int, float]]:
        """What followed the last `least` or more tokens up to `position`, where they stood before: (token, log-prob).

        The longest match decides, the latest of equals; as many tokens are copied as match, at most 16. The
        probability n / (n + 1) behind a match of n is an estimate, not a measurement.
        """
        text = self.tokens[: position + 1]
        if position >= self.length or len(text) <= least:
            return []
        ends = np.flatnonzero(text[:-1] == text[-1])  # where the last token stood before
        best, where = 0, -1
        for end in ends[::-1].tolist():
            length = self._match(text, end)
            if length > best:
                best, where = length, end
            if best >= _LONGEST:
                break
        if best < least:
            return []
        follows = text[where + 1 : where + 1 + best].tolist()
        while len(follows) < best:  # the match overlaps the end: a loop, which goes on as it went
            follows.append(follows[len(follows) - (len(text) - where - 1)])
        logprob = math.log(best / (best + 1))
        return [(token, logprob) for token in follows]

    @staticmethod
    def _match(text: np.ndarray, end: int) -> int:
        """How many tokens up to `end` equal those up to the last one, at most 16."""
        most = min(_LONGEST, end + 1)
        same = text[end + 1 - most : end + 1] == text[len(text) - most :]
        wrong = np.flatnonzero(~same)
        return most if len(wrong) == 0 else most - 1 - int(wrong[-1])
