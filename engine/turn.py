"""One turn: prompt rows, first token, rounds, end. A generator of records that may be stopped or dropped anywhere.

Knows limits, stop conditions and text; the decoder knows the algorithm.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import cast

import numpy as np

from engine import progress as steps
from engine.config import EngineConfig, SamplingConfig
from engine.decoder import Decoder, Verified, least_rows
from engine.errors import Cancelled
from engine.recorder import Recorder, settings_of
from engine.sampling import Sampler
from engine.strategies.base import Proposal, Strategy
from engine.stream_text import StreamText
from engine.token_tree import Candidates
from engine.tokenizer import Tokenizer
from engine.trace import (
    Event,
    FinishReason,
    Phase,
    PhaseName,
    Prefill,
    PrefillProgress,
    Timings,
    TurnEnd,
)


@dataclass(slots=True)
class Reply:
    """What has been emitted, and why it ended."""

    stream: StreamText
    stop_ids: frozenset[int]
    ids: list[int]
    limit: int = 0  # tokens
    finish: FinishReason | None = None
    at_limit: FinishReason = "length"

    def fit(self, limit: int, room: int) -> None:
        """Take at most `limit` tokens, and `room`, what the context holds; where that is too late, one more."""
        self.at_limit = "context" if room < limit else "length"
        self.limit = max(min(limit, room), len(self.ids) + 1)

    def take(self, token: int) -> str:
        """Emit one decided token; sets `finish` at the first of stop token, stop string, limit. Returns new text."""
        if token in self.stop_ids:
            self.finish = "stop_token"
            return self.stream.flush()
        self.ids.append(token)
        text = self.stream.push(token)
        if self.stream.stopped:
            self.finish = "stop_string"
        elif len(self.ids) >= self.limit:
            self.finish = self.at_limit
            text += self.stream.flush()
        return text

    @property
    def remaining(self) -> int:
        """Tokens that may still come."""
        return self.limit - len(self.ids)


class TurnRunner:
    """Runs one turn over a decoder whose caches hold the first `start` tokens of `prompt`.

    `strategy()`, `config()` and `sampling()` are asked before every round, so a change acts at the next one. Emitted
    tokens stay; what is still provisional then is judged again as sampling now says, so the text is that of plain
    decoding with the same change after the same token. `observers`: strategies that follow the text, whether they draft
    or not. `committed`: token ids of the cached rows, kept in step here.
    """

    def __init__(
        self,
        decoder: Decoder,
        tokenizer: Tokenizer,
        *,
        config: Callable[[], EngineConfig],
        sampling: Callable[[], SamplingConfig],
        strategy: Callable[[], Strategy],
        observers: list[Strategy],
        committed: list[int],
        stepping: Callable[[], bool],
        stopped: threading.Event,
    ) -> None:
        self._decoder = decoder
        self._tokenizer = tokenizer
        self._config = config
        self._sampling = sampling
        self._sampler = Sampler(sampling())
        self._strategy = strategy
        self._observers = observers
        self._committed = committed
        self._stepping = stepping
        self._stopped = stopped
        self._recorder = Recorder(tokenizer)
        self._reply = Reply(StreamText(tokenizer.token_bytes), tokenizer.stop_ids, [])
        self._begin = perf_counter()
        self._rounds = self._room = 0

    def run(self, prompt: list[int]) -> Iterator[Event]:
        """All events after `TurnStart`. However it ends, caches, `committed` and `pending` agree."""
        self._room = self._decoder.target.cache.capacity - len(prompt)
        try:
            yield from self._prefill(prompt)
            while self._reply.finish is None:
                yield from self._round()
        except Cancelled:
            self._reply.finish = "cancelled"
        finally:
            self._settle()
        yield self._end()

    def _prefill(self, prompt: list[int]) -> Iterator[Event]:
        """Read the prompt in chunks, then draw the first token."""
        decoder, cache, sampler = self._decoder, self._decoder.target.cache, self._ask()
        decoder.pending = []
        start = cache.length
        begin = decoder.pauses.clock()
        chunk = self._config().prefill_chunk
        yield PrefillProgress(0, len(prompt) - start)
        for at in range(start, len(prompt), chunk):
            tokens = prompt[at : at + chunk]
            last = at + len(tokens) == len(prompt)
            padded = tokens + tokens[-1:] if len(tokens) == 1 else tokens
            positions = np.arange(at, at + len(padded), dtype=np.int64)
            output = decoder.target.forward(padded, positions, last_only=len(padded) == len(tokens))
            logits = output.logits[0]
            first = sampler.draw(logits, len(prompt), prompt) if last else prompt[at + len(tokens)]
            cache.advance(len(tokens))
            self._committed += tokens
            for observer in self._observers:
                observer.extend(at, output.hidden[: len(tokens)], tokens, [*tokens[1:], first])
            yield PrefillProgress(at + len(tokens) - start, len(prompt) - start)
        decoder.pending = [first]
        self._recorder.origins = ["first"]
        token = self._recorder.token(first, "first", -1, *self._recorder.judge(logits, first))
        text = self._reply.take(first)
        if self._reply.finish == "stop_token":
            token = token._replace(id=-1, text="", raw="")
        yield Prefill(len(prompt) - start, (decoder.pauses.clock() - begin) * 1e3, token, text, chunk)

    def _ask(self) -> Sampler:
        """The sampler for the next tokens; what else the settings say now acts as well."""
        sampling = self._sampling()
        if sampling != self._sampler.config:
            self._sampler = Sampler(sampling)
        self._recorder.greedy = sampling.temperature == 0 and sampling.repetition_penalty == 1
        self._reply.stream.set_stop(sampling.stop)
        self._reply.fit(self._config().max_new_tokens, self._room)
        return self._sampler

    def _round(self) -> Iterator[Event]:
        steps.check(self._stopped)
        decoder, strategy, config, sampler = self._decoder, self._strategy(), self._config(), self._ask()
        start_ms = (perf_counter() - self._begin) * 1e3
        begin = decoder.pauses.clock()
        yield from self._phase("root")
        proposal, draft_ms = yield from self._draft(strategy, config)
        drafted = proposal.candidates if proposal else None
        yield from self._phase("prune", drafted)
        yield from self._phase("verify", drafted)
        verified = decoder.verify(proposal, config, pad_to=least_rows(strategy, config))
        yield from self._phase("accept", drafted)
        written = [*self._committed, decoder.pending[0]] if sampler.config.repetition_penalty != 1 else []
        decoder.accept(verified, sampler, written, exact=config.exact)
        tokens = self._recorder.tokens(verified)
        text, used, emitted = self._emit(verified)
        yield from self._phase("commit", drafted)
        commit_begin = perf_counter()
        kept = decoder.commit(verified, used, self._observers, ended=self._reply.finish is not None)
        commit_ms = (perf_counter() - commit_begin) * 1e3
        self._committed += [verified.pending[0], *(d.token for d in verified.sound[: used - 1])]

        def timings() -> Timings:
            total = (decoder.pauses.clock() - begin) * 1e3
            return Timings(start_ms, total, draft_ms, verified.verify_ms, commit_ms)

        record = self._recorder.round(
            verified,
            tokens,
            index=self._rounds,
            settings=settings_of(strategy.name, config, sampler.config),
            emitted=emitted,
            text=text,
            kept=kept,
            ended=self._reply.finish is not None,
            timings=timings,
        )
        self._rounds += 1
        self._recorder.origins = [t.source for t in tokens[used - 1 :]]
        yield from self._wait(record)

    def _draft(self, strategy: Strategy, config: EngineConfig) -> Generator[Event, None, tuple[Proposal | None, float]]:
        """Let the strategy propose; while stepping, show the tree after each level."""
        remaining = self._reply.remaining - (len(self._decoder.pending) - 1)
        levels = self._decoder.propose(strategy, config, remaining)
        while True:
            try:
                level, candidates = next(levels)
            except StopIteration as done:
                return cast("tuple[Proposal | None, float]", done.value)
            yield from self._phase("level", candidates, level)

    def _phase(self, name: PhaseName, drafted: Candidates | None = None, level: int = 0) -> Iterator[Event]:
        """While stepping: say what comes next, and wait to be pulled."""
        if self._stepping():
            nodes = self._recorder.candidates(drafted, self._decoder.pending[-1])
            yield from self._wait(Phase(self._rounds, name, level, nodes))

    def _wait(self, event: Event) -> Iterator[Event]:
        """Yield; the time until the next pull is the consumer's."""
        begin = perf_counter()
        yield event
        self._decoder.pauses.seconds += perf_counter() - begin

    def _emit(self, verified: Verified) -> tuple[str, int, int]:
        """Take sound tokens until the reply ends: (new text, tokens used up, tokens emitted)."""
        text, before, used = "", len(self._reply.ids), 0
        for decision in verified.sound:
            text += self._reply.take(decision.token)
            used += 1
            if self._reply.finish is not None:
                break
        return text, used, len(self._reply.ids) - before

    def _settle(self) -> None:
        """Only rows of emitted text count; what was provisional is forgotten."""
        decoder = self._decoder
        decoder.pending = decoder.pending[:1]
        for observer in self._observers:
            observer.truncate(decoder.target.cache.length)

    def _end(self) -> TurnEnd:
        reply = self._reply
        reply.stream.flush()
        finish = reply.finish or "cancelled"
        return TurnEnd(finish, reply.stream.text, tuple(reply.ids), (perf_counter() - self._begin) * 1e3)
