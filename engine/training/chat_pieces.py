"""The tokens that a chat template puts around what user and assistant say, found by rendering it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from engine.errors import ModelFolderError
from engine.tokenizer import Tokenizer

_MARKS = ("eyrieuserone", "eyriereplyone", "eyrieusertwo")


@dataclass(frozen=True, slots=True)
class ChatPieces:
    """Token ids: of the very start up to the user's first word, from the user's last word to the reply's first, and
    from the reply's last word (its end-of-turn token first) to the user's next."""

    start: tuple[int, ...]
    to_reply: tuple[int, ...]
    to_user: tuple[int, ...]

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> Self:
        """Take the template of a model apart. Raises `ModelFolderError` for templates that do more than wrap."""
        first, reply, second = _MARKS
        messages = [
            {"role": "user", "content": first},
            {"role": "assistant", "content": reply},
            {"role": "user", "content": second},
        ]
        text = tokenizer.render(messages)
        if any(text.count(mark) != 1 for mark in _MARKS):
            raise ModelFolderError(
                "The chat template changes what is said, so no training text can be written with it."
            )
        start, rest = text.split(first)
        to_reply, rest = rest.split(reply)
        to_user, _ = rest.split(second)
        return cls(*(tuple(tokenizer.encode(part)) for part in (start, to_reply, to_user)))
