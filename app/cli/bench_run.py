"""Measures settings over prompts in one interleaved run. Knows a model and the records; prints nothing.

The order of the settings turns from prompt to prompt, so that a machine that slows down or speeds up does so for all
alike. Every turn starts from empty caches, so that all settings read the prompt in the same way.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from app.cli.bench_prompts import Prompt
from app.cli.bench_settings import Draft
from app.cli.bench_stats import Run
from app.engine_api import EngineApi, LoadedModel, Session
from engine import ConfigError, EngineConfig, Event, Prefill, SamplingConfig, Turn, TurnEnd, TurnStart

PLAIN_ONE, PLAIN_TWO = "plain, 1 row", "plain, 2 rows"
WARM_UP_TOKENS = 24


@dataclass(frozen=True, slots=True)
class Setting:
    """One way of decoding to be measured."""

    name: str
    config: EngineConfig


def settings_to_measure(drafts: Sequence[Draft], base: EngineConfig) -> list[Setting]:
    """Plain decoding with one and with two rows per pass, then each draft."""
    plain = base.with_(speculative_type="")
    out = [Setting(PLAIN_ONE, plain.with_(plain_rows=1)), Setting(PLAIN_TWO, plain.with_(plain_rows=2))]
    for d in drafts:
        config = base.with_(
            speculative_type=d.strategy,
            eagle_topk=d.topk,
            eagle_depth=d.depth,
            draft_predict_length=d.length,
            eagle_lookup=d.copied,
            draft_min_probability=d.least,
            eagle_merge=d.merged,
            exact=d.exact,
            plain_rows=1,
        )
        out.append(Setting(d.name, config))
    return out


class Bench:
    """The measurement; iterate `run` for groups of finished runs."""

    def __init__(
        self, engine: EngineApi, model: LoadedModel, settings: Sequence[Setting], sampling: SamplingConfig
    ) -> None:
        self._engine, self._model, self._settings, self._sampling = engine, model, settings, sampling
        self._session: Session | None = None
        self._stopped = False

    def stop(self) -> None:
        """End the running turn; `run` yields nothing more."""
        self._stopped = True
        if self._session is not None:
            self._session.stop()

    def run(self, prompts: Sequence[Prompt], repeats: int, ticked: Callable[[], object]) -> Iterator[list[Run]]:
        """Warm up, then yield all settings' runs of one prompt at a time. `ticked` is called after each turn."""
        for setting in self._settings:
            if self._stopped:
                return
            short = min(WARM_UP_TOKENS, setting.config.max_new_tokens)
            self._turn(prompts[0], Setting(setting.name, setting.config.with_(max_new_tokens=short)), 0)
        turn = 0
        for repeat in range(repeats):
            for prompt in prompts:
                shift = turn % len(self._settings)
                group = []
                for setting in [*self._settings[shift:], *self._settings[:shift]]:
                    group.append(self._turn(prompt, setting, repeat))
                    if self._stopped:
                        return
                    ticked()
                turn += 1
                yield group

    def _turn(self, prompt: Prompt, setting: Setting, repeat: int) -> Run:
        self._session = self._engine.ChatSession(self._model, setting.config)
        turn, began, ended = Turn(), 0.0, 0.0
        event: Event
        for event in self._session.generate([{"role": "user", "content": prompt.text}], self._sampling):
            if isinstance(event, TurnStart) and event.reason:
                raise ConfigError(f"{setting.name} cannot be measured: {event.reason}")
            if isinstance(event, Prefill):
                began = time.perf_counter()
            elif isinstance(event, TurnEnd):
                ended = time.perf_counter()
            turn.add(event)
            if self._stopped:
                self._session.stop()
        return measured(turn, prompt, setting.name, repeat, 1000 * (ended - began))


def measured(turn: Turn, prompt: Prompt, setting: str, repeat: int, decode_ms: float) -> Run:
    """The figures of a finished turn that took `decode_ms` after its first token."""
    stats = turn.stats()
    tokens = turn.tokens
    return Run(
        prompt=prompt.id,
        category=prompt.category,
        setting=setting,
        ids=tuple(t.id for t in tokens),
        margins=tuple(t.margin for t in tokens),
        emitted=stats.emitted,
        rounds=stats.rounds,
        drafted=stats.drafted,
        verified=stats.verified,
        accepted=stats.accepted,
        decode_ms=decode_ms,
        draft_ms=stats.draft_ms,
        verify_ms=stats.verify_ms,
        commit_ms=stats.commit_ms,
        prompt_tokens=turn.start.prompt_tokens if turn.start else 0,
        prefill_ms=turn.prefill.ms if turn.prefill else 0.0,
        finish_reason=turn.end.finish_reason if turn.end else "",
        repeat=repeat,
        reached_by_depth=stats.reached_by_depth,
        accepted_by_depth=stats.accepted_by_depth,
        replayed=sum(len(r.replayed) for r in turn.rounds),
        provisional=sum(len(r.provisional) for r in turn.rounds),
        corrected=sum(r.corrected for r in turn.rounds),
    )
