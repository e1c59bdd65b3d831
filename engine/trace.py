"""The records of one turn: what the engine did, round by round, as plain immutable data.

Knows no Qt, no ONNX Runtime, no tokenizer. Everything a front end shows, counts, colours or exports is computed
from these. `engine/trace_round.py` holds what a round is made of; `engine/trace_json.py` reads and writes all of it.

A turn is yielded as events, in this order:
    TurnStart, PrefillProgress*, Prefill, (Phase* Round)*, TurnEnd
and kept as one `Turn`. Time stamps are milliseconds; `start` counts from the beginning of the turn.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Literal

from engine.trace_round import DraftedBy, KvChange, Node, Round, Settings, Source, Timings, Token

__all__ = [
    "TRACE_VERSION",
    "DraftedBy",
    "Event",
    "FinishReason",
    "KvChange",
    "Node",
    "Phase",
    "PhaseName",
    "Prefill",
    "PrefillProgress",
    "Round",
    "Settings",
    "Source",
    "Timings",
    "Token",
    "Turn",
    "TurnEnd",
    "TurnStart",
    "TurnStats",
]

TRACE_VERSION = 1

FinishReason = Literal["stop_token", "stop_string", "length", "context", "cancelled", "error"]
PhaseName = Literal["root", "level", "prune", "verify", "accept", "commit"]


@dataclass(frozen=True, slots=True)
class TurnStart:
    """What is about to run."""

    model: str
    strategy: str
    reason: str  # why the strategy is plain although another was asked for; "" otherwise
    prompt_tokens: int
    reused_tokens: int  # prompt tokens whose KV rows of earlier turns are used again
    context_length: int
    dropped_messages: int = 0  # oldest messages left out because the context is full
    prompt_text: str = ""  # the rendered prompt, template included


@dataclass(frozen=True, slots=True)
class PrefillProgress:
    """Prompt tokens read so far, of those that are new."""

    done: int
    total: int


@dataclass(frozen=True, slots=True)
class Prefill:
    """The prompt is read and the first token drawn."""

    tokens: int  # prompt tokens processed (reused ones excluded)
    ms: float
    first: Token
    text: str  # what became displayable
    chunk: int | None = None  # prefill_chunk, most prompt tokens per pass; None in traces older than the field


@dataclass(frozen=True, slots=True)
class Phase:
    """Only while stepping: the engine is about to enter (or has built, for levels) a phase, and waits to be pulled."""

    round: int
    name: PhaseName
    level: int  # draft level for "level", else 0
    nodes: tuple[Node, ...]  # the tree so far


@dataclass(frozen=True, slots=True)
class TurnEnd:
    """Why and with what the turn ended."""

    finish_reason: FinishReason
    text: str  # the whole reply
    token_ids: tuple[int, ...]  # the reply as tokens, stop token excluded
    total_ms: float
    error: str = ""
    warning: str = ""  # e.g. the draft does not seem to match this model


Event = TurnStart | PrefillProgress | Prefill | Phase | Round | TurnEnd


@dataclass(slots=True)
class Turn:
    """All records of one turn. Grows while the turn runs (`add`), then stays."""

    start: TurnStart | None = None
    prefill: Prefill | None = None
    rounds: list[Round] = field(default_factory=list)
    end: TurnEnd | None = None

    def add(self, event: Event) -> None:
        """Keep an event; progress and phases are not part of the record."""
        if isinstance(event, Round):
            self.rounds.append(event)
        elif isinstance(event, TurnStart):
            self.start = event
        elif isinstance(event, Prefill):
            self.prefill = event
        elif isinstance(event, TurnEnd):
            self.end = event

    @property
    def tokens(self) -> list[Token]:
        """Every emitted token in order."""
        first = [self.prefill.first] if self.prefill and self.prefill.first.id >= 0 else []
        return first + [t for r in self.rounds for t in r.emitted]

    @property
    def text(self) -> str:
        """The reply so far."""
        if self.end:
            return self.end.text
        return (self.prefill.text if self.prefill else "") + "".join(r.text for r in self.rounds)

    def stats(self) -> TurnStats:
        """Counts over the recorded rounds."""
        return TurnStats.of(self.rounds)


@dataclass(frozen=True, slots=True)
class TurnStats:
    """Sums over rounds. τ (acceptance length) = emitted tokens / rounds, bonus token included."""

    rounds: int
    drafted: int
    verified: int
    accepted: int
    emitted: int
    draft_ms: float
    verify_ms: float
    commit_ms: float
    host_ms: float
    reached_by_depth: dict[int, int]  # rounds in which some verified node of this depth hung on an accepted parent
    accepted_by_depth: dict[int, int]
    accepted_by_rank: dict[int, int]

    @classmethod
    def of(cls, rounds: list[Round]) -> TurnStats:
        """Count."""
        by_depth: Counter[int] = Counter()
        by_rank: Counter[int] = Counter()
        reached: Counter[int] = Counter()
        for r in rounds:
            for i in r.accepted:
                by_depth[r.nodes[i].depth] += 1
                by_rank[r.nodes[i].rank] += 1
            if not r.corrected:
                reached.update({n.depth for n in r.nodes[1:] if n.kept and r.nodes[n.parent].accepted})
        return cls(
            rounds=len(rounds),
            drafted=sum(r.drafted for r in rounds),
            verified=sum(r.verified for r in rounds),
            accepted=sum(r.accepted_emitted for r in rounds),
            emitted=sum(len(r.emitted) for r in rounds),
            draft_ms=sum(r.timings.draft for r in rounds),
            verify_ms=sum(r.timings.verify for r in rounds),
            commit_ms=sum(r.timings.commit for r in rounds),
            host_ms=sum(r.timings.host for r in rounds),
            reached_by_depth=dict(reached),
            accepted_by_depth=dict(by_depth),
            accepted_by_rank=dict(by_rank),
        )

    @property
    def tau(self) -> float:
        """Acceptance length: emitted tokens per round, bonus included; nan with no rounds."""
        return self.emitted / self.rounds if self.rounds else float("nan")

    @property
    def total_ms(self) -> float:
        """Time of all rounds."""
        return self.draft_ms + self.verify_ms + self.commit_ms + self.host_ms

    @property
    def tokens_per_second(self) -> float:
        """Emitted tokens per second of round time; nan with no rounds."""
        return 1000.0 * self.emitted / self.total_ms if self.total_ms > 0 else float("nan")
