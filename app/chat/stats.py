"""The few numbers kept with a reply and shown below it. Computed from the turn's records."""

from __future__ import annotations

import math
from typing import Any

from app.seed import seed_of
from app.status import STRATEGY_WORDS
from engine.trace import Turn

ENDS = {
    "stop_token": "",
    "stop_string": "ended at a stop string",
    "length": "stopped at the length limit",
    "context": "stopped: the context is full",
    "cancelled": "stopped",
    "error": "ended by an error",
    "": "interrupted: Eyrie ended before the reply was complete",
}


def message_stats(turn: Turn) -> dict[str, Any]:
    """What `Store.messages.finish` keeps: JSON-able, nan where there is nothing to divide."""
    start, end, rounds = turn.start, turn.end, turn.rounds
    emitted = sum(len(r.emitted) for r in rounds)
    ms = sum(r.timings.total for r in rounds)  # not `turn.stats()`: that walks over every node, in the main thread
    return {
        "tokens": len(turn.tokens),
        "rounds": len(rounds),
        "drafted": sum(r.drafted for r in rounds),
        "accepted": sum(r.accepted_emitted for r in rounds),
        "tau": emitted / len(rounds) if rounds else math.nan,
        "tokens_per_second": 1000 * emitted / ms if ms > 0 else math.nan,
        "seed": seed_of(turn),
        "strategy": start.strategy if start else "",
        "reason": start.reason if start else "",
        "model": start.model if start else "",
        "prompt_tokens": start.prompt_tokens if start else 0,
        "dropped_messages": start.dropped_messages if start else 0,
        "total_ms": end.total_ms if end else math.nan,
        "error": end.error if end else "",
        "warning": end.warning if end else "",
    }


def footer(stats: dict[str, Any], finish_reason: str) -> str:
    """One line below a reply; numbers and names are not broken in two where it wraps."""
    parts = []
    tokens = stats.get("tokens")
    if isinstance(tokens, int) and tokens:
        parts = [f"{tokens} token{'s' if tokens != 1 else ''}", *_figures(stats)]
    if isinstance(stats.get("seed"), int):
        parts.append(f"seed {stats['seed']}")
    end = str(stats.get("error") or ENDS.get(finish_reason, finish_reason))
    line = [part.replace(" ", "\u00a0").replace("-", "\u2011") for part in parts]
    return " · ".join([*line, end] if end else line)


def _figures(stats: dict[str, Any]) -> list[str]:
    """How fast, how well, how, and with what."""
    found = []
    for key, text in (("tokens_per_second", "{:.1f} tokens/s"), ("tau", "τ {:.2f}")):
        value = stats.get(key)
        if isinstance(value, int | float) and math.isfinite(value):
            found.append(text.format(value))
    names = (stats.get("strategy"), stats.get("model"))
    return found + [STRATEGY_WORDS.get(name, name) for name in names if isinstance(name, str) and name]
