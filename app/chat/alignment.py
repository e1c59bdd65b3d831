"""Which character of a shown block came from which character of its Markdown. Qt-free; parses no Markdown.

What is shown follows the source in order with the markup left out. So words are laid along the words of the source:
equal ones in turn, and where they part, again from the nearest place at which several in a row agree. Parts of the
source that are not shown, such as addresses, are left out before. Where it cannot tell, a character has no source.
"""

from __future__ import annotations

import re
from bisect import bisect_left

WORD = re.compile(r"[^\W_]+")
CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`)(?:[^\n]|\n(?!\s*\n))+?(?<!`)\1(?!`)")
_TITLE = r"""(?:\s+(?:"[^"]*"|'[^']*'|\([^()]*\)))?"""
NOT_SHOWN = (
    re.compile(rf"\]\(\s*(?:<[^<>\n]*>|[^()\s]*(?:\([^()\s]*\)[^()\s]*)*){_TITLE}\s*\)"),  # where a link leads
    re.compile(r"\]\[[^\[\]\n]*\]"),  # the name of where a link leads
    re.compile(rf"^ {{0,3}}\[[^\[\]\n]+\]:\s*\S+{_TITLE}[ \t]*$", re.M),  # what such a name means
    re.compile(r"^[\s>]*\d{1,9}[.)](?=\s)", re.M),  # the number of a list item
    re.compile(r"(?<=&)(?:#\d+|#[xX][0-9a-fA-F]+|\w+);"),  # a character by its name
)
FENCE = re.compile(r"^[\s>*+\-\d.)]*?(?:`{3,}|~{3,})[^\n]*$", re.M)
PICTURE = re.compile(r"\[picture: (?:no description\])?")  # what `app.chat.markdown` says in place of one
BLANK, ADDED = "\x00", "\x01"
INSIDE = re.compile(rf"[*_~`\\{BLANK}]+")  # markup within a word
AGREE = 3  # words in a row that must be equal to go on from them
LARGEST = 30_000  # characters; a longer block has no links, comparing it would hold the window
AHEAD, ASIDE = 300, 12  # words of the source, and of what is shown, that may be skipped at once


class Alignment:
    """A shown text laid along its source.

    Attributes:
        source_of: for each character of the shown text the index of the same character in the source, or -1; those that
            are not -1 rise.
    """

    def __init__(self, source: str, shown: str, code: bool = False) -> None:
        self.source_of = align(source, shown, code)
        self._known = [at for at, place in enumerate(self.source_of) if place >= 0]
        self._places = [self.source_of[at] for at in self._known]

    def shown(self, start: int, end: int) -> tuple[int, int] | None:
        """The stretch of the shown text that came from `start` to `end` (exclusive) of the source; None for none."""
        first, last = bisect_left(self._places, start), bisect_left(self._places, end)
        return (self._known[first], self._known[last - 1] + 1) if first < last else None


def align(source: str, shown: str, code: bool = False) -> list[int]:
    """Index in `source` of each character of `shown`, -1 where it is not certain. `code`: of a fenced block."""
    if max(len(source), len(shown)) > LARGEST:
        return [-1] * len(shown)
    if code:
        at = source.find(shown, source.find("\n") + 1)
        if at >= 0:
            return list(range(at, at + len(shown)))
    if not code and "![" in source:
        shown = PICTURE.sub(lambda match: ADDED * len(match[0]), shown)
    source = _fences_left_out(source) if code else _left_out(source)
    return _Words(source, shown).places()


def _fences_left_out(source: str) -> str:
    found = [match.span() for match in FENCE.finditer(source)]
    return _cut(source, {found[0], found[-1]} if found else set())


def _left_out(source: str) -> str:
    """The source with what is not shown replaced, as long as before."""
    kept = [match.span() for match in CODE_SPAN.finditer(source)] if "`" in source else []
    starts = [start for start, _ in kept]
    cuts = set()
    for pattern in NOT_SHOWN:
        for match in pattern.finditer(source):
            before = bisect_left(starts, match.start() + 1) - 1
            if before < 0 or match.start() >= kept[before][1]:
                cuts.add(match.span())
    return _cut(source, cuts)


def _cut(text: str, spans: set[tuple[int, int]]) -> str:
    signs = list(text)
    for start, end in spans:
        signs[start:end] = BLANK * (end - start)
    return "".join(signs)


class _Words:
    """The words of both texts, and how far they have been compared."""

    def __init__(self, source: str, shown: str) -> None:
        self._source, self._shown = source, shown
        self._from = [m.span() for m in WORD.finditer(source)]
        self._to = [m.span() for m in WORD.finditer(shown)]
        self._words = [source[start:end] for start, end in self._from]
        self._wanted = [shown[start:end] for start, end in self._to]
        self._where: dict[str, list[int]] = {}
        for number, word in enumerate(self._words):
            self._where.setdefault(word, []).append(number)

    def places(self) -> list[int]:
        """See `align`."""
        pairs = self._pairs()
        out = [-1] * len(self._shown)
        for i, (first, last) in pairs.items():
            at = self._to[i][0]
            for start, end in self._from[first:last]:
                out[at : at + end - start] = range(start, end)
                at += end - start
        for i in range(-1, len(self._to)):
            before, after = pairs.get(i), pairs.get(i + 1)
            if (before is None and i >= 0) or (after is None and i + 1 < len(self._to)):
                continue
            first, last = before[1] if before else 0, after[0] if after else len(self._from)
            if first == last:
                self._between(out, i, first)
        return out

    def _pairs(self) -> dict[int, tuple[int, int]]:
        """For a shown word the first and last (exclusive) word of the source that it is made of."""
        pairs: dict[int, tuple[int, int]] = {}
        i = j = 0
        while i < len(self._wanted) and j < len(self._words):
            end = self._same(i, j)
            if end:
                pairs[i] = (j, end)
                i, j = i + 1, end
                continue
            aside, later = self._agreement(i, j)
            for back in range(1, 0 if aside else later - j + 1):
                if i - back not in pairs or self._wanted[i - back] != self._words[later - back]:
                    break
                del pairs[i - back]  # this word stands twice, and either may be the shown one
            i, j = i + aside, later
        return pairs

    def _same(self, i: int, j: int) -> int:
        """Where the words of the source end that make shown word `i` from `j` on; 0: they do not."""
        wanted, word = self._wanted[i], self._words[j]
        if word == wanted:
            return j + 1
        while wanted.startswith(word) and j + 1 < len(self._words):
            gap = self._source[self._from[j][1] : self._from[j + 1][0]]
            if not INSIDE.fullmatch(gap):
                return 0
            j += 1
            word += self._words[j]
            if word == wanted:
                return j + 1
        return 0

    def _agreement(self, i: int, j: int) -> tuple[int, int]:
        """How many shown words to skip, and the word of the source from which they agree again."""
        best, cost = (ASIDE, j), ASIDE + AHEAD
        for aside in range(min(ASIDE, len(self._wanted) - i)):
            found = self._where.get(self._wanted[i + aside], ())
            for place in found[bisect_left(found, j) :]:
                if aside + place - j >= cost:
                    break
                if self._agree(i + aside, place):
                    best, cost = (aside, place), aside + place - j
                    break
        return best

    def _agree(self, i: int, j: int) -> bool:
        for step in range(AGREE):
            if i == len(self._wanted):
                return step > 0
            end = self._same(i, j) if j < len(self._words) else 0
            if not end:
                return False
            i, j = i + 1, end
        return True

    def _between(self, out: list[int], i: int, j: int) -> None:
        """Place what stands between two neighbours: the signs that are in the source as often as they are shown."""
        at, until = self._to[i][1] if i >= 0 else 0, self._to[i + 1][0] if i + 1 < len(self._to) else len(self._shown)
        start = self._from[j - 1][1] if j else 0
        end = self._from[j][0] if j < len(self._from) else len(self._source)
        shown, source = self._shown[at:until], self._source[start:end]
        certain = {sign for sign in set(shown) if shown.count(sign) == source.count(sign)}
        place = 0
        for offset, sign in enumerate(shown):
            found = source.find(sign, place) if sign in certain else -1
            if found >= 0:
                out[at + offset], place = start + found, found + 1
