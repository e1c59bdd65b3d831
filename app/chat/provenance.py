"""Which characters of a reply came from which token. Qt-free.

A token's own text may hold U+FFFD where it is half a character, specials may not be shown at all, and a stop string
may cut the last token. So tokens are laid along the displayed text: one that fits exactly is a span of its own,
neighbours that share characters are one span, and characters that no token explains have none.
"""

from __future__ import annotations

import contextlib
import re
from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple

from app.chat.half_characters import HALF, run_ends, settle
from app.selection import nodes_of
from engine.trace import Source, Token, Turn

AHEAD = 24  # characters of the following tokens that tell where half characters end
GAP = 200  # characters that a token may be ahead of where it was expected


class Placed(NamedTuple):
    """A token of the reply, its round, and its node there as the selection numbers them; the first token is the root
    of round 0."""

    token: Token
    round: int  # index in Turn.rounds
    node: int


@dataclass(frozen=True, slots=True)
class Span:
    """Characters `start` to `end` (exclusive) and the tokens, by number, that made them; they may be none."""

    start: int
    end: int
    tokens: tuple[int, ...]


def placed(turn: Turn, first: int = 0) -> list[Placed]:
    """Every emitted token in text order, from round `first` on; the first token comes with round 0."""
    start = [Placed(turn.prefill.first, 0, 0)] if turn.prefill and turn.prefill.first.id >= 0 and first == 0 else []
    rounds = enumerate(turn.rounds[first:], first)
    return start + [Placed(t, i, node) for i, r in rounds for t, node in zip(r.emitted, nodes_of(r), strict=True)]


class Provenance:
    """The tokens of a turn laid along its text; grows with the turn.

    Attributes:
        tokens: every emitted token so far.
        spans: in text order; every token that is settled is in exactly one.
        text: the text they lie in.
    """

    def __init__(self) -> None:
        self.tokens: list[Placed] = []
        self.spans: list[Span] = []
        self.text = ""
        self._at = 0
        self._starts: list[int] = []
        self._by_round: dict[int, list[Span]] = {}
        self._counts: Counter[Source] = Counter()
        self._turn: Turn | None = None
        self._rounds = 0  # taken in, with all their tokens
        self._certain = 0  # tokens that these and the first one are

    @classmethod
    def of(cls, turn: Turn, text: str | None = None) -> Provenance:
        """For a whole turn; `text` is what is shown, where it is not exactly the turn's."""
        made = cls()
        made.update(turn, turn.text if text is None else text, final=True)
        return made

    def update(self, turn: Turn, text: str, final: bool = False) -> None:
        """Take in what was appended. Until `final`, tokens whose text is still held back wait."""
        if not self._at and turn.end and text != turn.end.text and text.endswith(turn.end.text):
            self._at = len(text) - len(turn.end.text)  # a reply that continued a given beginning
        self._turn = turn
        self.tokens[self._certain :] = placed(turn, self._rounds)
        if turn.rounds:
            self._rounds, self._certain = len(turn.rounds), len(self.tokens)
        self.text = text
        index = self.spans[-1].tokens[-1] + 1 if self.spans else 0
        while index < len(self.tokens):
            half = HALF in self.tokens[index].token.text
            spans = self._halves(index, final) if half else self._whole(index, final)
            if not spans:
                break
            for span in spans:
                self._counts.update(self.tokens[t].token.source for t in span.tokens)
                for number in {self._emitted_by(t) for t in span.tokens}:
                    self._by_round.setdefault(number, []).append(span)
            self.spans += spans
            self._starts += [span.start for span in spans]
            self._at = spans[-1].end
            index = spans[-1].tokens[-1] + 1

    def at(self, position: int) -> Span | None:
        """The span that holds the character at `position`."""
        index = bisect_right(self._starts, position) - 1
        while index >= 0:
            span = self.spans[index]
            if span.start <= position < span.end:
                return span
            if span.end > span.start:
                return None
            index -= 1  # tokens without characters lie between
        return None

    def between(self, first: int, last: int) -> list[Span]:
        """Spans that touch the characters `first` to `last`."""
        return self.spans[max(0, bisect_right(self._starts, first) - 1) : bisect_right(self._starts, last)]

    def of_round(self, number: int) -> list[Span]:
        """Spans with a token that this round emitted."""
        return list(self._by_round.get(number, ()))

    def of_node(self, number: int, node: int) -> list[Span]:
        """The word of a node: the token it holds. What the tree starts with, the root or the first row that was run
        again, holds the last token before the round."""
        held = {i for i, place in enumerate(self.tokens) if place[1:] == (number, node)}
        shown = self._turn.rounds[number] if self._turn and number < len(self._turn.rounds) else None
        if shown is not None and node == (len(shown.nodes) + 1 if shown.replayed else 0):
            first = next((i for i in range(len(self.tokens)) if self._emitted_by(i) >= number), len(self.tokens))
            held = {first - 1}
        return [s for s in self.spans if held & set(s.tokens)]

    def source(self, span: Span) -> Source:
        """How the span came: by the token that completed it."""
        return self.tokens[span.tokens[-1]].token.source

    def counts(self) -> Counter[Source]:
        """Shown tokens by how they came."""
        return Counter(self._counts)

    def _emitted_by(self, token: int) -> int:
        place = self.tokens[token]
        return -1 if place.token.source == "first" else place.round

    def _whole(self, index: int, final: bool) -> list[Span]:
        """The span of a token without half characters; [] while its text may still come."""
        piece, at = self.tokens[index].token.text, self._at
        if self.text.startswith(piece, at):
            return [Span(at, at + len(piece), (index,))]
        if not final and piece.startswith(self.text[at:]):
            return []
        wanted = piece + self._following(index + 1)
        found = self.text.find(wanted, at, at + GAP + len(wanted)) if piece.strip() else -1
        if found >= 0:
            return [Span(found, found + len(piece), (index,))]
        shared = next((n for n in range(len(piece), 0, -1) if self.text.startswith(piece[:n], at)), 0)
        return [Span(at, at + shared, (index,))]

    def _halves(self, index: int, final: bool) -> list[Span]:
        """The spans of a run of tokens with half characters, cut at characters where the record has their bytes.

        [] while the run may go on and nobody knows where a character ends.
        """
        end = index + 1
        while end < len(self.tokens) and HALF in self.tokens[end].token.text:
            end += 1
        if end == len(self.tokens) and not final:
            end = index + _whole_characters(self._data(index, end))
            if end == index:
                return []
        pieces = [p.token.text for p in self.tokens[index:end]]
        stop = self._known_stop(index, end)
        if stop is None:
            data = self.text[self._at :].encode("utf-8", "surrogatepass")
            ends, short = run_ends(data, pieces)
            if short and not final:
                return []
            ends = ends or self._loose_ends("".join(pieces), end)
            if ends:
                reached = settle(data, ends, (p.token.text for p in self.tokens[end:]), final)
                stop = None if reached is None else self._at + len(data[:reached].decode("utf-8", "surrogatepass"))
            elif final:
                stop = self._resync(self._following(end), "".join(pieces))
        return [] if stop is None else self._split(index, end, stop)

    def _known_stop(self, index: int, end: int) -> int | None:
        """Where a run ends by the tokens' bytes; None where they are not known or the text has something else."""
        exact = b"".join(self._data(index, end)).decode(errors="replace")
        return self._at + len(exact) if exact and self.text.startswith(exact, self._at) else None

    def _data(self, index: int, end: int) -> list[bytes]:
        """The bytes of tokens; [] where the record does not have them all, as in old ones."""
        tokens = [place.token for place in self.tokens[index:end]]
        if any(HALF in t.text and not t.raw for t in tokens):
            return []
        return [bytes.fromhex(t.raw) or t.text.encode("utf-8", "surrogatepass") for t in tokens]

    def _loose_ends(self, group: str, end: int) -> list[int]:
        """Ends of a run, in bytes, for texts that do not count U+FFFD as UTF-8 does: at most a character for each."""
        ahead = self._following(end)
        parts = re.split(f"({HALF}+)", group)
        pattern = re.compile("".join(f".{{1,{len(p)}}}" if p.startswith(HALF) else re.escape(p) for p in parts), re.S)
        last = min(len(self.text), self._at + len(group))
        stops = range(self._at + 1, last + 1) if ahead or end < len(self.tokens) else [len(self.text)]
        fits = [s for s in stops if self.text.startswith(ahead, s) and pattern.fullmatch(self.text, self._at, s)]
        return [len(self.text[self._at : stop].encode("utf-8", "surrogatepass")) for stop in fits]

    def _resync(self, ahead: str, group: str) -> int:
        found = self.text.find(ahead, self._at, self._at + len(group) + GAP) if ahead else -1
        return found if found >= 0 else min(len(self.text), self._at + len(group))

    def _following(self, index: int) -> str:
        """Some certain characters after token `index` - 1."""
        ahead = ""
        for place in self.tokens[index : index + AHEAD]:
            if HALF in place.token.text or len(ahead) >= AHEAD:
                break
            ahead += place.token.text
        return ahead

    def _split(self, index: int, end: int, stop: int) -> list[Span]:
        """Cut a run at characters, by the tokens' bytes where they are known."""
        whole = [Span(self._at, stop, tuple(range(index, end)))]
        pieces = self._data(index, end)
        text = self.text[self._at : stop]
        if not pieces or b"".join(pieces) != text.encode("utf-8", "surrogatepass"):
            return whole
        edges = [0]
        for character in text:
            edges.append(edges[-1] + len(character.encode("utf-8", "surrogatepass")))
        spans, group, start, done = [], [], 0, 0
        for number, piece in enumerate(pieces, index):
            group.append(number)
            done += len(piece)
            if done in edges[start + 1 :] or (done == edges[start] and number + 1 == end):
                cut = edges.index(done)
                spans.append(Span(self._at + start, self._at + cut, tuple(group)))
                group, start = [], cut
        return spans if not group else whole


def _whole_characters(pieces: list[bytes]) -> int:
    """How many of the first pieces end with a whole character, and hold nothing but whole ones."""
    whole, data = 0, b""
    for count, piece in enumerate(pieces, 1):
        data += piece
        with contextlib.suppress(UnicodeDecodeError):
            data.decode()
            whole, data = count, b""
    return whole
