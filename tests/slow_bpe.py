"""Byte-level BPE by its definition, slow and independent of any tokenizer library, as a reference for tests."""

from __future__ import annotations

import itertools
import unicodedata
from collections.abc import Iterator

_CONTRACTIONS = ("'s", "'t", "'re", "'ve", "'m", "'ll", "'d")
# Unicode's White_Space property, which `\\s` means in the pattern.
_SPACES = {*"\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000", *map(chr, range(0x2000, 0x200B))}


def encode(text: str, ranks: dict[tuple[str, str], int], vocab: dict[str, int], *, digits_apart: bool) -> list[int]:
    """Token ids of text that holds no special tokens. `digits_apart`: SmolLM's rule, every number character alone."""
    ids = []
    for part in _numbers_apart(text) if digits_apart else [text]:
        for word in _gpt2_words(part):
            ids += [vocab[symbol] for symbol in _merge([_letter(b) for b in word.encode()], ranks)]
    return ids


def _kind(c: str) -> str:
    if c in _SPACES:
        return "space"
    return {"L": "letter", "N": "number"}.get(unicodedata.category(c)[0], "other")


def _numbers_apart(text: str) -> Iterator[str]:
    part = ""
    for c in text:
        if _kind(c) == "number":
            yield from (part, c)
            part = ""
        else:
            part += c
    yield part


def _gpt2_words(text: str) -> Iterator[str]:
    """GPT-2's pattern: 's|'t|'re|'ve|'m|'ll|'d| ?letters| ?numbers| ?others|spaces before a space or the end|spaces."""
    at = 0
    while at < len(text):
        end = _word_end(text, at)
        yield text[at:end]
        at = end


def _word_end(text: str, at: int) -> int:
    for contraction in _CONTRACTIONS:
        if text.startswith(contraction, at):
            return at + len(contraction)
    start = at + 1 if text[at] == " " and at + 1 < len(text) and _kind(text[at + 1]) != "space" else at
    end = start
    while end < len(text) and _kind(text[end]) == _kind(text[start]):
        end += 1
    if _kind(text[start]) == "space" and end < len(text) and end - start > 1:
        return end - 1  # the last space belongs to the word that follows
    return end


def _merge(symbols: list[str], ranks: dict[tuple[str, str], int]) -> list[str]:
    """Join the pair of lowest rank, leftmost first, until no pair has one."""
    while True:
        ranked = [(ranks[pair], i) for i, pair in enumerate(itertools.pairwise(symbols)) if pair in ranks]
        if not ranked:
            return symbols
        _, i = min(ranked)
        symbols = [*symbols[:i], symbols[i] + symbols[i + 1], *symbols[i + 2 :]]


def _letter(byte: int) -> str:
    """GPT-2's printable stand-in for one byte."""
    shown = [b for b in range(256) if 33 <= b <= 126 or 161 <= b <= 172 or b >= 174]
    return chr(byte) if byte in shown else chr(256 + [b for b in range(256) if b not in shown].index(byte))
