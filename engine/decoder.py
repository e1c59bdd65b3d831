"""One round: draft, verify in one target pass, accept, commit. The same for every strategy.

Decided tokens that have no canonical key-value row yet are `pending`: the root, and before it, in exact mode, tokens
to be run again. Knows no text, no limits and no records.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from dataclasses import dataclass, field
from time import perf_counter
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from engine.config import EngineConfig
from engine.sampling import Sampler
from engine.strategies.base import Proposal, Strategy
from engine.target import TargetModel, TargetPass
from engine.token_tree import Candidates

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

_CANONICAL_ROWS = 2  # a pass of one row runs other kernels than a wider one, and gives other bits


@dataclass(frozen=True, slots=True)
class Layout:
    """The rows of one verify pass: pending tokens as a chain, then the kept nodes; row `head` is the root."""

    tokens: Ints  # [S]
    positions: Ints  # [S] absolute
    sees: Bools | None  # [S, S] which row sees which; None: every earlier one
    head: int  # rows before the root
    nodes: Ints  # [1 + kept] pool id of row head, head + 1, ...; the root's is 0
    children: list[dict[int, int]]  # per row from the root on: token → row of the pass


@dataclass(frozen=True, slots=True)
class Decision:
    """A token the target decided in this pass."""

    token: int
    source: Literal["plain", "draft", "bonus", "correction", "replay"]
    decided_by: int  # row of the pass whose logits decided it
    row: int  # row of the pass that holds it; -1 when it has none yet
    node: int  # pool id of its node, or of the node whose row decided it; -1 for replayed rows


@dataclass(slots=True)
class Verified:
    """What one pass decided. `sound` tokens are final; `provisional` ones must be confirmed by the next pass."""

    layout: Layout
    output: TargetPass  # views, valid until the next pass
    proposal: Proposal | None
    pending: list[int]
    sound: list[Decision] = field(default_factory=list)
    provisional: list[Decision] = field(default_factory=list)
    chosen: dict[int, int] = field(default_factory=dict)  # row → token drawn there, on the walk
    position: int = 0  # absolute position of the first pending token
    verify_ms: float = 0.0

    @property
    def decisions(self) -> list[Decision]:
        """All decided tokens in text order."""
        return self.sound + self.provisional


class Pauses:
    """Time a consumer kept the generator waiting; it belongs to no phase."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def clock(self) -> float:
        """Seconds of own time."""
        return perf_counter() - self.seconds


class Decoder:
    """Runs rounds over one target and one strategy at a time. `pending[-1]` is the root.

    After every method, also one that raised, the caches hold exactly `target.cache.length` committed rows.
    """

    def __init__(self, target: TargetModel) -> None:
        self.target = target
        self.pending: list[int] = []
        self.pauses = Pauses()

    def propose(
        self, strategy: Strategy, config: EngineConfig, remaining: int
    ) -> Generator[tuple[int, Candidates], None, tuple[Proposal | None, float]]:
        """Draft at most `remaining` - 1 levels (the bonus token is one more). Yields after each level."""
        begin = self.pauses.clock()
        cache = self.target.cache
        root_position = cache.length + len(self.pending) - 1
        room = cache.capacity - root_position - 1  # rows behind the root
        levels = strategy.draft(self.pending[-1], root_position, config, min(remaining - 1, room), room)
        level = 0
        while True:
            try:
                candidates = next(levels)
            except StopIteration as done:
                return done.value, (self.pauses.clock() - begin) * 1e3
            level += 1
            yield level, candidates

    def verify(self, proposal: Proposal | None, config: EngineConfig, *, pad_to: int) -> Verified:
        """One target pass over pending tokens and proposal; nothing is decided or committed yet."""
        begin = perf_counter()
        layout = lay_out(self.pending, self.target.cache.length, proposal, exact=config.exact, pad_to=pad_to)
        output = self.target.forward(layout.tokens, layout.positions, layout.sees)
        verified = Verified(layout, output, proposal, list(self.pending), position=self.target.cache.length)
        verified.verify_ms = (perf_counter() - begin) * 1e3
        return verified

    def accept(self, v: Verified, sampler: Sampler, history: Iterable[int], *, exact: bool) -> None:
        """Fill `v.sound` and `v.provisional`: confirm replayed rows, then walk from the root.

        At each row the target's own draw decides; a verified child holding it is entered, otherwise it is the bonus
        token. So the text is what plain decoding draws, and the tree only saves passes.
        """
        draw = _Draw(v, sampler, history)
        head = v.layout.head
        for row in range(head):
            token = draw(row)
            if token != v.pending[row + 1]:
                v.sound.append(Decision(token, "correction", row, -1, -1))
                return
            v.sound.append(Decision(token, "replay", row, row + 1, -1))
        row, canonical = head, True
        while True:
            token = draw(row)
            child = v.layout.children[row - head].get(token)
            into = v.sound if canonical else v.provisional
            node = int(v.layout.nodes[row - head])
            if child is None:
                into.append(Decision(token, "bonus" if v.proposal else "plain", row, -1, node))
                return
            into.append(Decision(token, "draft", row, child, int(v.layout.nodes[child - head])))
            canonical = canonical and (not exact or child == row + 1)
            row = child

    def commit(self, v: Verified, used: int, strategies: Iterable[Strategy], *, ended: bool) -> tuple[int, ...]:
        """Keep the rows of the first pending token and of all `used` sound tokens but the last; return those rows.

        The last used token, and in exact mode what is provisional, becomes `pending`. `ended`: nothing after the used
        tokens counts.
        """
        decided = v.sound[:used] if ended else v.decisions
        tokens = [v.pending[0], *(d.token for d in decided)]
        rows = [0, *(d.row for d in decided[:-1])]  # row of each token but the last
        self.target.cache.keep(rows[:used], canonical=len(v.layout.tokens) >= _CANONICAL_ROWS)
        self.pending = tokens[used:]
        hidden = v.output.hidden[rows]  # [L, streams · hidden]
        for strategy in strategies:
            strategy.extend(v.position, hidden, tokens[:-1], tokens[1:])
        return tuple(rows[:used])


def least_rows(strategy: Strategy, config: EngineConfig) -> int:
    """Rows a verify pass is padded to: only plain decoding may run a single row."""
    return config.plain_rows if strategy.name == "plain" else _CANONICAL_ROWS


def is_exact(strategy: Strategy, config: EngineConfig) -> bool:
    """Whether rounds like this leave canonical rows only, and decide by them."""
    return config.exact and least_rows(strategy, config) >= _CANONICAL_ROWS


class _Draw:
    """The sampler's choice after a row of the pass; greedy choices of all rows are found at once."""

    def __init__(self, v: Verified, sampler: Sampler, history: Iterable[int]) -> None:
        self._v = v
        self._sampler = sampler
        self._penalised = sampler.config.repetition_penalty != 1
        self._history = set(history) if self._penalised else set()

    def __call__(self, row: int) -> int:
        v = self._v
        if self._penalised:
            self._history.add(int(v.layout.tokens[row]))
        token = self._sampler.draw(v.output.logits[row], int(v.layout.positions[row]) + 1, self._history)
        v.chosen[row] = token
        return token


def lay_out(pending: list[int], start: int, proposal: Proposal | None, *, exact: bool, pad_to: int) -> Layout:
    """Rows of a verify pass from absolute position `start` on.

    Exact mode verifies depth first, likeliest child first: root and first path then lie where plain decoding puts
    them, so their results are the same to the last bit. Otherwise creation order, as MNN does. A pass shorter than
    `pad_to` gets copies of the root whose results nobody reads.
    """
    head = len(pending) - 1
    chain = np.array(pending, np.int64)
    if proposal is None:
        padding = max(0, pad_to - len(pending))
        tokens = np.concatenate((chain, np.full(padding, chain[-1])))
        positions = np.arange(start, start + len(tokens), dtype=np.int64)
        return Layout(tokens, positions, None, head, np.zeros(1, np.int64), [{}])
    rows = proposal.rows
    order = rows.depth_first() if exact else np.arange(len(rows.nodes))
    place = np.empty_like(order)  # place[row of the proposal] = row behind the root
    place[order] = np.arange(len(order))
    tokens = np.concatenate((chain[:-1], rows.draft_tokens[order]))
    positions = np.concatenate((np.arange(start, start + head), start + head + rows.position_ids[order]))
    size = len(tokens)
    sees = np.tri(size, dtype=np.bool_)
    sees[head:, head:] = rows.attention_mask[np.ix_(order, order)]
    children: list[dict[int, int]] = [{} for _ in order]
    for row in range(len(order) - 1, 0, -1):  # backwards: of equal siblings the first one wins
        source = order[row]
        children[place[rows.parents[source]]][int(tokens[head + row])] = head + row
    return Layout(tokens, positions, sees, head, rows.nodes[order], children)
