"""Reads `tokenizer.json` in steps. Knows the file's fields; nothing of model folders or of conversations.

The library reads a whole file in one call that lets no other thread run: 0.1 s for 50,000 tokens, 0.3 s for 150,000,
in which a window stands still. Here each table is read, and the model made of them, in a call of its own.
"""

from __future__ import annotations

import json
import re
import threading
from typing import Any

import tokenizers

from engine import progress as steps
from engine.errors import Cancelled

_BPE_FIELDS = (
    "dropout",
    "unk_token",
    "continuing_subword_prefix",
    "end_of_word_suffix",
    "fuse_unk",
    "byte_fallback",
    "ignore_merges",
)
_ADDED_FIELDS = ("single_word", "lstrip", "rstrip", "normalized", "special")
_PARTS = ("normalizer", "pre_tokenizer", "post_processor", "decoder")

_decoder = json.JSONDecoder()
_space = re.compile(r"[ \t\r\n]*")


def read_tokenizer(text: str, cancel: threading.Event | None = None) -> tokenizers.Tokenizer:
    """The tokenizer that `tokenizers.Tokenizer.from_str` makes of `text`, whose exceptions this raises as well.

    Raises `Cancelled` between two steps.
    """
    try:
        made = _in_steps(text, cancel)
    except Cancelled:
        raise
    except Exception:  # what this does not understand, the library may, or says what is wrong
        made = None
    return tokenizers.Tokenizer.from_str(text) if made is None else made


def _in_steps(text: str, cancel: threading.Event | None) -> tokenizers.Tokenizer | None:
    """None where the file holds anything but byte pairs in today's form."""
    fields, _ = _read_object(text, 0, "model", cancel)
    model, added = fields["model"], fields["added_tokens"]
    if model["type"] != "BPE" or not all(isinstance(pair, list) for pair in model["merges"]):
        return None
    if fields["truncation"] or fields["padding"]:
        return None
    given = {name: model[name] for name in _BPE_FIELDS if model.get(name) is not None}
    merges = [(left, right) for left, right in model["merges"]]
    steps.check(cancel)
    made = tokenizers.Tokenizer(tokenizers.models.BPE(model["vocab"], merges, **given))
    steps.check(cancel)
    no_words = {"type": "BPE", "vocab": {}, "merges": []}
    shell = tokenizers.Tokenizer.from_str(json.dumps({**fields, "added_tokens": [], "model": no_words}))
    for part in _PARTS:
        setattr(made, part, getattr(shell, part))
    made.add_tokens(
        [tokenizers.AddedToken(token["content"], **{name: token[name] for name in _ADDED_FIELDS}) for token in added]
    )
    numbered = {number: token.content for number, token in made.get_added_tokens_decoder().items()}
    return made if numbered == {token["id"]: token["content"] for token in added} else None


def _read_object(text: str, start: int, inner: str, cancel: threading.Event | None) -> tuple[dict[str, Any], int]:
    """The object at `start` and where it ends, field by field, and so is its field `inner`."""
    fields: dict[str, Any] = {}
    at, ends = _after(text, start, "{"), ","
    while ends == ",":
        steps.check(cancel)
        name, at = _decoder.raw_decode(text, at)
        at = _after(text, at, ":")
        if name == inner:
            fields[name], at = _read_object(text, at, "", cancel)
        else:
            fields[name], at = _decoder.raw_decode(text, at)
        at = _after(text, at, "")
        ends, at = text[at], _after(text, at + 1, "")
    if ends != "}":
        raise ValueError(f"{ends!r} at {at} where an object ends or goes on")
    return fields, at


def _after(text: str, at: int, sign: str) -> int:
    """Where the next thing begins behind `sign`, which must be at `at`, and the spaces around it."""
    at = _space.match(text, at).end()  # type: ignore[union-attr]
    if not text.startswith(sign, at):
        raise ValueError(f"no {sign!r} at {at}")
    return _space.match(text, at + len(sign)).end()  # type: ignore[union-attr]
