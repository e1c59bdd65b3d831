"""The record of one round: its draft tree, what the target made of it, and what came out, as plain immutable data.

Front ends import these names from `engine.trace`, which tells how rounds make a turn. Knows no Qt, no ONNX Runtime, no
tokenizer. Time stamps are milliseconds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

Source = Literal["first", "plain", "draft", "bonus", "correction"]
DraftedBy = Literal["unknown", "nothing", "head", "copy", "merged", "ngram"]


class Token(NamedTuple):
    """One token of the reply. `sum` over all rounds (+ the first) of `emitted` is the reply, exactly."""

    id: int
    text: str  # this token alone; half a character shows as U+FFFD (use Round.text for display)
    source: Source  # first: from prefill; plain: no speculation; draft: accepted draft; bonus: the target's own
    node: int  # node of the round that carried it (draft), or whose row decided it (bonus, plain); -1 for first
    prob: float  # probability the target gave it (temperature 1, no truncation)
    margin: float  # target logit of the best token minus the second best where it was decided
    raw: str = ""  # its bytes in hex where `text` cannot show them: half a character; "" in traces older than the field


class Node(NamedTuple):
    """One candidate of a round's draft tree. Node 0 is the root: the last decided token, without KV row yet.

    Ids count in creation order (level by level), so a parent's id is always smaller than its child's.
    """

    id: int
    parent: int  # -1 for the root
    depth: int  # root 0
    rank: int  # among its siblings by draft probability, best 0
    token: int
    text: str
    logprob: float  # draft log-probability given the parent; 0 for the root
    cum_logprob: float  # sum along the path from the root
    active: bool  # was expanded into the next level
    kept: bool  # among the draft_predict_length best and likely enough, or the root: it was verified
    row: int  # its row in the verify pass, counted after `Round.replayed`; -1 when pruned
    target_token: int  # what the target drew after this node; -1 where it was not asked
    target_text: str
    target_prob: float  # probability the target gave that token; nan where it was not computed (off the path)
    accepted: bool  # on the accepted path (the root always is)


@dataclass(frozen=True, slots=True)
class Settings:
    """The values one round used. None: the trace is older than the field, and what it was is not known.

    How the prompt was read stands in `Prefill`: nothing after it asks.
    """

    strategy: str  # "plain", "eagle", "mtp", "lookahead"
    eagle_topk: int
    eagle_depth: int
    draft_predict_length: int
    temperature: float
    top_k: int
    top_p: float
    min_p: float
    repetition_penalty: float
    seed: int
    draft_min_probability: float = 0.0  # in traces older than the field, too
    eagle_lookup: int | None = None
    eagle_merge: bool | None = None
    exact: bool | None = None
    max_new_tokens: int | None = None
    plain_rows: int | None = None
    ngram_match_maxlen: int | None = None
    draft_match_strictness: str | None = None
    draft_selection_rule: str | None = None
    ngram_update: bool | None = None


@dataclass(frozen=True, slots=True)
class Timings:
    """Milliseconds of one round. host = total - draft - verify - commit."""

    start: float
    total: float
    draft: float
    verify: float
    commit: float

    @property
    def host(self) -> float:
        """Everything outside the three model phases: tree, sampling, text, record."""
        return max(0.0, self.total - self.draft - self.verify - self.commit)


@dataclass(frozen=True, slots=True)
class KvChange:
    """What a round did to the target's KV cache, in rows."""

    before: int  # rows committed before the round
    appended: int  # rows of the verify pass (replayed + root + kept nodes + padding)
    kept: tuple[int, ...]  # which of the appended rows stay, by row of the pass


@dataclass(frozen=True, slots=True)
class Round:
    """One round: draft, verify, accept, commit."""

    index: int  # from 0 within the turn
    position: int  # absolute position of the root
    settings: Settings
    nodes: tuple[Node, ...]  # root first, creation order, pruned ones included
    accepted: tuple[int, ...]  # node ids, child of root first, as the walk went; may exceed what was emitted at a stop
    emitted: tuple[Token, ...]  # in text order; already cut at stop token, stop string or limit
    text: str  # what became displayable in this round
    kv: KvChange
    timings: Timings
    replayed: tuple[Token, ...] = ()  # tokens decided earlier and run again at the head of this pass
    provisional: tuple[Token, ...] = ()  # tokens decided in this round that wait for the next pass to confirm them
    # Where the candidates came from: passes of a draft head, text copied whole, counts of earlier text. Nothing: plain.
    drafted_by: DraftedBy = "unknown"  # in traces older than the field

    @property
    def drafted(self) -> int:
        """Candidate nodes made by the draft (root excluded)."""
        return len(self.nodes) - 1

    @property
    def verified(self) -> int:
        """Nodes the target verified (root excluded)."""
        return sum(n.kept for n in self.nodes) - 1

    @property
    def accepted_emitted(self) -> int:
        """Accepted draft tokens that reached the reply; trimmed ones count nowhere."""
        return sum(t.source == "draft" for t in self.emitted)

    @property
    def corrected(self) -> bool:
        """A replayed token was decided otherwise: the tree grew from a wrong text and was not walked."""
        return bool(self.replayed) and self.nodes[0].target_prob != self.nodes[0].target_prob  # nan

    def path(self) -> tuple[int, ...]:
        """Root and accepted nodes."""
        return (0, *self.accepted)

    def children(self, node: int) -> list[Node]:
        """Children of a node, best rank first."""
        return sorted((n for n in self.nodes if n.parent == node), key=lambda n: n.rank)

    def fate(self, node: Node) -> str:
        """Why the node ended as it did, in words a person can read."""
        if node.id == 0:
            wrong = "replaced: an earlier token was corrected, so this one was never written"
            return wrong if self.corrected else "the last decided token: the tree grows from it"
        if node.accepted:
            return "accepted: the target chose the same token here"
        if not node.kept:
            return f"pruned before verification: {self._why_pruned(node)}"
        if self.corrected:
            return "dropped: an earlier token was corrected, so the tree grew from a wrong text"
        parent = self.nodes[node.parent]
        if not parent.accepted:
            return "rejected: its parent was rejected"
        wanted = f"rejected: the target wanted {parent.target_text!r}"
        return wanted if parent.target_prob != parent.target_prob else f"{wanted} (p {parent.target_prob:.2f})"

    def _why_pruned(self, node: Node) -> str:
        least = self.settings.draft_min_probability
        if least and node.cum_logprob < math.log(least):
            return f"its path is less likely than draft_min_probability {least:g}"
        return f"not among the {self.settings.draft_predict_length} likeliest nodes"
