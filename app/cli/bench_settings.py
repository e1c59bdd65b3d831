"""The settings that `bench` compares, as people write them: `2,2,3,2 from 0.1; mtp 3; 4,5,10 inexact`.

Knows their notation and no measuring.
"""

from __future__ import annotations

import argparse
import re
from typing import NamedTuple

from app.cli import options

INEXACT, MERGE, FROM = "inexact", "merge", "from"


class Draft(NamedTuple):
    """A way of drafting to be measured."""

    strategy: str
    topk: int
    depth: int
    length: int
    copied: int = 0  # eagle_lookup
    least: float = 0.0  # draft_min_probability
    merged: bool = False  # eagle_merge
    exact: bool = True

    @property
    def name(self) -> str:
        """The setting as it is written."""
        shape = {
            "eagle": f"{self.topk},{self.depth},{self.length}" + (f",{self.copied}" if self.copied else ""),
            "lookahead": f"{self.topk},{self.length}",
        }.get(self.strategy, f"{self.length}")
        least = f" {FROM} {self.least:g}" if self.least else ""
        name = f"{self.strategy} {shape}{least}" + (f" {MERGE}" if self.merged else "")
        return name if self.exact else inexact_twin(name)


CHAIN = Draft("eagle", 1, 3, 3)
_SHAPES = {  # strategy: the settings its numbers are, in words and by key
    "eagle": (
        "topk,depth,draft-length[,lookup], such as 4,5,10 or 2,2,3,2",
        ("eagle_topk", "eagle_depth", "draft_predict_length", "eagle_lookup"),
    ),
    "mtp": ("draft-length, such as mtp 3", ("draft_predict_length",)),
    "lookahead": ("topk,draft-length, such as lookahead 4,8", ("eagle_topk", "draft_predict_length")),
}


def inexact_twin(name: str) -> str:
    """The name of the same setting without exactness."""
    return f"{name}, {INEXACT}"


def drafts(text: str) -> list[Draft]:
    """ "1,3,3; mtp 3; lookahead 8" as settings; a usage error names the part that is wrong."""
    out = [_draft(part) for part in (p.strip() for p in text.split(";")) if part]
    if not out:
        raise argparse.ArgumentTypeError("no settings: give topk,depth,draft-length, such as 4,5,10")
    return list(dict.fromkeys(out))


def _draft(part: str) -> Draft:
    word, numbers, behind = re.fullmatch(r"([a-z]*)([\s\d,x.-]*)(.*)", part, re.DOTALL).groups()  # type: ignore[union-attr]
    strategy = word or "eagle"
    if strategy not in _SHAPES:
        raise argparse.ArgumentTypeError(f"{part!r} is no setting: begin with {', '.join(_SHAPES)}, or with numbers")
    words, keys = _SHAPES[strategy]
    numbers = numbers.rstrip().removesuffix(",") if behind else numbers
    given = [n.strip() for n in numbers.split(",")]
    if strategy == "lookahead" and len(given) == 1:
        given = ["1", *given]
    if strategy == "eagle" and len(given) == 3:
        given = [*given, "0"]
    after = re.fullmatch(
        rf"(?:{FROM} (?P<least>[\d.]+))?[\s,]*(?P<merged>{MERGE})?[\s,]*(?P<inexact>{INEXACT})?", behind
    )
    if len(given) != len(keys) or after is None or (after["merged"] and strategy != "eagle"):
        raise argparse.ArgumentTypeError(f"{part!r} is not {words}")
    least = float(options.number("draft_min_probability", float)(after["least"] or "0"))
    found = {key: int(options.number(key, int)(n)) for key, n in zip(keys, given, strict=True)}
    topk, depth, copied = found.get("eagle_topk", 1), found.get("eagle_depth", 1), found.get("eagle_lookup", 0)
    length, merged, exact = found["draft_predict_length"], bool(after["merged"]), not after["inexact"]
    return Draft(strategy, topk, depth, length, copied, least, merged, exact)
