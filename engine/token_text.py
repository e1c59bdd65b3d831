"""The text of a conversation as token ids, grown and cut in place. Knows nothing of models or drafts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


class TokenText:
    """`tokens[:length]` is the text; what lies behind is room to grow."""

    def __init__(self) -> None:
        self.tokens = np.zeros(1024, np.int32)
        self.length = 0

    def put(self, position: int, tokens: Sequence[int]) -> None:
        """The text from `position` on is now `tokens`. A gap is a `ValueError`."""
        end = position + len(tokens)
        if position > self.length:
            raise ValueError(f"the text ends at {self.length} and continues at {position}")
        if end > len(self.tokens):
            self.tokens = np.concatenate((self.tokens, np.zeros(max(end, len(self.tokens)), np.int32)))
        self.tokens[position:end] = tokens
        self.length = end

    def truncate(self, length: int) -> None:
        """Forget tokens from `length` on."""
        self.length = min(self.length, length)
