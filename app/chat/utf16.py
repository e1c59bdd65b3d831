"""Positions of characters as Qt counts them. Qt-free."""

from __future__ import annotations


def units(text: str) -> list[int] | None:
    """UTF-16 positions of the characters of a text, which QTextDocument counts in, and its end; None where both are
    the same."""
    if text.isascii() or max(text) <= "\uffff":
        return None
    positions, at = [], 0
    for character in text:
        positions.append(at)
        at += 2 if ord(character) > 0xFFFF else 1
    return [*positions, at]
