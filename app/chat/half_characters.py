"""Where tokens that hold half characters end in a text. Qt-free.

A token's text is its bytes read as UTF-8, with U+FFFD for what is no whole character; one U+FFFD stands for one to
three bytes. So a token may end at several bytes of the text, and only what follows tells which: all ends are followed
side by side, token by token, until one is left. Knows neither turns nor spans.
"""

from __future__ import annotations

from collections.abc import Iterable

HALF = "\ufffd"


def ends_of(data: bytes, start: int, piece: str) -> list[int]:
    """Every `end` for which the bytes `start` to `end` of `data` read as `piece`, smallest first."""
    exact = piece.encode("utf-8", "surrogatepass")
    longest = start + len(exact)
    if HALF not in piece:
        return [longest] if data.startswith(exact, start) else []
    shortest = longest - 2 * piece.count(HALF)
    ends = range(shortest, min(longest, len(data)) + 1)
    return [end for end in ends if data[start:end].decode(errors="replace") == piece]


def run_ends(data: bytes, pieces: Iterable[str]) -> tuple[list[int], bool]:
    """The ends of these tokens in a row from byte 0, at whole characters only; and whether more text may add some."""
    states, short = {0: 0}, False
    for piece in pieces:
        states, cut = _step(data, states, piece)
        short = short or cut
    return sorted(end for end in states if end == len(data) or data[end] & 0xC0 != 0x80), short


def settle(data: bytes, ends: Iterable[int], following: Iterable[str], final: bool) -> int | None:
    """The one of `ends` from which the tokens that follow fit the text; None while more text may have to tell.

    A token that fits from nowhere (a special, an edited word) is passed over. Among ends that fit equally the one
    that leads to the end of the text is taken, then the smallest.
    """
    states = {end: end for end in ends}  # byte reached: smallest of the ends that lead there
    for piece in following:
        if len(set(states.values())) == 1:
            break
        found, short = _step(data, states, piece)
        if short and not final:
            return None
        states = found or states
    if not final and len(set(states.values())) > 1:
        return None
    return min((reached != len(data), end) for reached, end in states.items())[1]


def _step(data: bytes, states: dict[int, int], piece: str) -> tuple[dict[int, int], bool]:
    """The states after one more token, and whether the text was too short to tell for one of them."""
    found: dict[int, int] = {}
    short = False
    for start, origin in states.items():
        ends = ends_of(data, start, piece)
        for end in ends:
            found[end] = min(origin, found.get(end, origin))
        if not ends and len(data) - start < len(piece.encode("utf-8", "surrogatepass")):
            short = short or piece.startswith(data[start:].decode(errors="replace"))
    return found, short
