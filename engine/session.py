"""A conversation with a model: fits it into the context, reuses what is cached, and runs turns.

Knows messages and caches' contents; nothing of how a round works.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from engine.config import EngineConfig, SamplingConfig, prompt_room
from engine.decoder import Decoder, is_exact
from engine.errors import ContextFull
from engine.model import Model
from engine.strategies import canonical_name, create_strategy, strategies
from engine.strategies.base import Strategy
from engine.trace import Event, Round, TurnEnd, TurnStart
from engine.turn import TurnRunner

Message = Mapping[str, str]

GREEDY = SamplingConfig()
_MISMATCH_ROUNDS = 64
_MISMATCH_TAU = 1.02


class ChatSession:
    """Turns over one model. One thread calls `generate`; `stop` and the attributes may be used from any.

    Several sessions may take turns on one model; each then reads its conversation anew.

    `config` and `sampling` act at the next round; each `generate` begins with its own `sampling`. `stepping`: `Phase`
    events are yielded too, and the engine waits at each.
    """

    def __init__(self, model: Model, config: EngineConfig | None = None) -> None:
        self.model = model
        self.config = config or model.defaults
        self.sampling = GREEDY
        self.stepping = False
        self._decoder = Decoder(model.target)
        self._committed: list[int] = []  # tokens of the cached rows
        self._strategies: dict[str, tuple[Strategy, str]] = {}
        self._stop_asked = threading.Event()
        for name in strategies():  # all of them follow the text, so that any may take over at any round
            self._strategy(name)

    def generate(
        self, messages: Sequence[Message], sampling: SamplingConfig = GREEDY, *, prefix: str = ""
    ) -> Iterator[Event]:
        """Reply to `messages`. Yields the events of `engine/trace.py` in their order.

        `prefix`: text the reply must begin with (it is part of the prompt, not of the reply). The oldest turns leave
        when the context is too small for all. Raises `ContextFull` when the newest message alone does not fit, and
        `ConfigError` on an unknown strategy or a `lookup_file` that cannot be read. Dropping the generator at any point
        is safe.
        """
        self._stop_asked.clear()
        self.model.resume()
        self.sampling = sampling
        canonical_name(self.config.speculative_type)
        text, prompt, dropped = self._fit(messages, prefix)
        strategy, reason = self._strategy(self.config.speculative_type)
        reused = self._reuse(prompt, exact=is_exact(strategy, self.config))
        observers = [s for s, _ in self._strategies.values()]
        for observer in observers:
            observer.begin(prompt, self.config)
        yield TurnStart(
            model=self.model.name,
            strategy=strategy.name,
            reason=reason,
            prompt_tokens=len(prompt),
            reused_tokens=reused,
            context_length=self.model.dims.context_length,
            dropped_messages=dropped,
            prompt_text=text,
        )
        runner = TurnRunner(
            self._decoder,
            self.model.tokenizer,
            config=lambda: self.config,
            sampling=lambda: self.sampling,
            strategy=lambda: self._strategy(self.config.speculative_type)[0],
            observers=observers,
            committed=self._committed,
            stepping=lambda: self.stepping,
            stopped=self._stop_asked,
        )
        yield from _warned(runner.run(prompt))

    def stop(self) -> None:
        """End the turn in progress within a pass; `generate` then yields its `TurnEnd`. Any thread."""
        self._stop_asked.set()
        self.model.stop()

    def count_tokens(self, messages: Sequence[Message]) -> int:
        """Length of the rendered prompt."""
        return len(self.model.tokenizer.encode_chat(messages))

    def _strategy(self, name: str) -> tuple[Strategy, str]:
        name = canonical_name(name)
        if name not in self._strategies:
            self._strategies[name] = create_strategy(name, self.model)
        return self._strategies[name]

    def _fit(self, messages: Sequence[Message], prefix: str) -> tuple[str, list[int], int]:
        """(prompt text, prompt tokens, messages left out): the system prompt and the newest turns that fit."""
        room = prompt_room(self.model.dims.context_length, self.config.max_new_tokens)
        head = [m for m in messages[:1] if m["role"] == "system"]
        turns = list(messages[len(head) :])

        def prompt_from(start: int) -> tuple[str, list[int]]:
            text = self.model.tokenizer.render([*head, *turns[start:]]) + prefix
            return text, self.model.tokenizer.encode(text)

        starts = [0, *(i for i, m in enumerate(turns) if i > 0 and m["role"] == "user")]
        text, prompt = prompt_from(0)
        if len(prompt) <= room:
            return text, prompt, 0
        fits = bisect_left(starts, True, lo=1, key=lambda start: len(prompt_from(start)[1]) <= room)
        start = starts[min(fits, len(starts) - 1)]
        text, prompt = prompt_from(start)
        if len(prompt) > room:
            raise ContextFull(
                f"The message is too long: it takes {len(prompt)} tokens and {room} fit. "
                "Shorten it or the system prompt."
            )
        return text, prompt, start

    def _reuse(self, prompt: list[int], *, exact: bool) -> int:
        """Cut the caches back to the rows that `prompt` shares; returns how many those are.

        `exact`: only canonical rows are reused; the rest is read again, and is canonical from then on.
        The hidden state of the last shared token is gone unless the token after it is the one already decided, so
        one row less is reused otherwise. At least one prompt token is always left to run.
        """
        cache = self.model.target.cache
        if not self.model.claim(self):
            self._committed.clear()
        known = self._committed + self._decoder.pending[:1]
        common = next((i for i, (a, b) in enumerate(zip(known, prompt, strict=False)) if a != b), None)
        common = min(len(known), len(prompt)) if common is None else common
        reused = max(0, min(cache.canonical if exact else cache.length, common - 1))
        cache.truncate(reused)
        del self._committed[reused:]
        self._decoder.pending = []
        for strategy, _ in self._strategies.values():
            strategy.truncate(reused)
        return reused


def _warned(events: Iterator[Event]) -> Iterator[Event]:
    """Add a warning to the end when a head drafted for many rounds and hardly one draft was ever accepted."""
    rounds = emitted = 0
    for event in events:
        if isinstance(event, Round) and event.verified and event.settings.strategy != "lookahead":
            rounds, emitted = rounds + 1, emitted + len(event.emitted)
        if isinstance(event, TurnEnd) and rounds >= _MISMATCH_ROUNDS and emitted <= _MISMATCH_TAU * rounds:
            warning = f"In {rounds} rounds almost no drafted token was accepted: the draft does not match this model."
            yield replace(event, warning=warning)
        else:
            yield event
