"""Builds the record of a round from what the decoder did. Reads everything, changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from engine.config import EngineConfig, SamplingConfig
from engine.decoder import Decision, Verified
from engine.sampling import Judge
from engine.token_tree import Candidates
from engine.tokenizer import Tokenizer
from engine.trace import KvChange, Node, Round, Settings, Source, Timings, Token

_NAN = float("nan")
_OF_A_NODE = ("draft", "bonus", "plain")


def settings_of(strategy: str, config: EngineConfig, sampling: SamplingConfig) -> Settings:
    """The values a round uses, as the record keeps them."""
    return Settings(
        strategy=strategy,
        eagle_topk=config.eagle_topk,
        eagle_depth=config.eagle_depth,
        draft_predict_length=config.draft_predict_length,
        temperature=sampling.temperature,
        top_k=sampling.top_k,
        top_p=sampling.top_p,
        min_p=sampling.min_p,
        repetition_penalty=sampling.repetition_penalty,
        seed=sampling.seed,
        draft_min_probability=config.draft_min_probability,
        eagle_lookup=config.eagle_lookup,
        eagle_merge=config.eagle_merge,
        exact=config.exact,
        max_new_tokens=config.max_new_tokens,
        plain_rows=config.plain_rows,
        ngram_match_maxlen=config.ngram_match_maxlen,
        draft_match_strictness=config.draft_match_strictness,
        draft_selection_rule=config.draft_selection_rule,
        ngram_update=config.ngram_update,
    )


@dataclass(slots=True)
class Recorder:
    """Turns passes into `Round` records; call it before the next pass overwrites the logits.

    `origins`: how each pending token was decided, in step with `Decoder.pending`.
    """

    tokenizer: Tokenizer
    greedy: bool = False  # the choice after every row is then known, also off the path
    origins: list[Source] = field(default_factory=list)
    judge: Judge = field(default_factory=Judge)

    def tokens(self, v: Verified) -> list[Token]:
        """All decisions of a pass with what the target thought of them, in text order."""
        return [self._token(v, d) for d in v.decisions]

    def _token(self, v: Verified, d: Decision) -> Token:
        logits = v.output.logits[d.decided_by]
        source = self.origins[d.row] if d.source == "replay" else d.source
        node = d.node if d.source in _OF_A_NODE else -1
        return self.token(d.token, source, node, *self.judge(logits, d.token))

    def token(self, token: int, source: Source, node: int, prob: float, margin: float) -> Token:
        """A token with its text."""
        return Token(token, self.tokenizer.piece(token), source, node, prob, margin, self.tokenizer.raw(token))

    def candidates(self, c: Candidates | None, root: int) -> tuple[Node, ...]:
        """Nodes of a tree that is not verified yet; None: there is only the root."""
        c = c or _only_root()
        kept = set(np.flatnonzero(c.kept).tolist())
        nodes = self._nodes(c, root, {}, {}, {}, frozenset())
        return tuple(node._replace(kept=node.id in kept or node.id == 0) for node in nodes)

    def round(
        self,
        v: Verified,
        tokens: Sequence[Token],
        *,
        index: int,
        settings: Settings,
        emitted: int,
        text: str,
        kept: tuple[int, ...],
        ended: bool,
        timings: Callable[[], Timings],
    ) -> Round:
        """The record of one committed pass; the first `emitted` of `tokens` reached the reply, perhaps `ended` it."""
        head = v.layout.head
        chosen = self._chosen(v)
        probs = {d.decided_by: t.prob for d, t in zip(v.decisions, tokens, strict=True)}
        accepted = tuple(d.node for d in v.decisions if d.source == "draft")
        root = v.pending[-1]
        if v.proposal is None:
            rows = {0: head}
            candidates = _only_root()
        else:
            rows = {int(node): head + row for row, node in enumerate(v.layout.nodes)}
            candidates = v.proposal.candidates
        return Round(
            index=index,
            position=v.position + head,
            settings=settings,
            nodes=tuple(self._nodes(candidates, root, rows, chosen, probs, frozenset(accepted), head)),
            accepted=accepted,
            emitted=tuple(tokens[:emitted]),
            text=text,
            kv=KvChange(v.position, len(v.layout.tokens), kept),
            replayed=tuple(
                self.token(token, source, -1, _NAN, _NAN)
                for token, source in zip(v.pending[:-1], self.origins, strict=False)
            ),
            provisional=() if ended else tuple(tokens[len(v.sound) :]),
            timings=timings(),
            drafted_by=v.proposal.drafted_by if v.proposal else "nothing",
        )

    def _chosen(self, v: Verified) -> dict[int, int]:
        """Row of the pass → token drawn there."""
        if not self.greedy:
            return v.chosen
        return dict(enumerate(v.output.logits.argmax(axis=1).tolist()))

    def _nodes(
        self,
        c: Candidates,
        root: int,
        rows: dict[int, int],
        chosen: dict[int, int],
        probs: dict[int, float],
        accepted: frozenset[int],
        head: int = 0,
    ) -> list[Node]:
        piece = self.tokenizer.piece
        columns = (column.tolist() for column in (c.parent, c.depth, c.rank, c.token, c.logprob, c.cum_logprob))
        active = c.active.tolist()
        nodes = []
        for i, (parent, depth, rank, token, logprob, cum) in enumerate(zip(*columns, strict=True)):
            row = rows.get(i, -1)
            want = chosen.get(row, -1)
            nodes.append(
                Node(
                    id=i,
                    parent=parent,
                    depth=depth,
                    rank=rank,
                    token=token if i else root,
                    text=piece(token if i else root),
                    logprob=logprob,
                    cum_logprob=cum,
                    active=active[i],
                    kept=row >= 0,
                    row=row - head if row >= 0 else -1,
                    target_token=want,
                    target_text=piece(want) if want >= 0 else "",
                    target_prob=probs.get(row, _NAN) if row >= 0 else _NAN,
                    accepted=i == 0 or i in accepted,
                )
            )
        return nodes


def _only_root() -> Candidates:
    """The tree of plain decoding."""
    ints, floats, yes = np.zeros(1, np.int64), np.zeros(1), np.ones(1, np.bool_)
    return Candidates(ints - 1, ints, ints, ints - 1, floats, floats, ~yes, yes)
