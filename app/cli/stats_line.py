"""The line after a reply: tokens, τ, speed, prefill, strategy and why. Knows records only."""

from __future__ import annotations

import math

from app.seed import seed_of
from engine import Turn

_ENDS = {
    "length": "stopped at the longest reply allowed (--max-new-tokens)",
    "context": "stopped: the context is full",
    "cancelled": "stopped by you",
    "stop_string": "stopped at a stop string",
}


def stats_line(turn: Turn) -> str:
    """Empty if the turn has no first token yet."""
    if turn.prefill is None or turn.start is None:
        return ""
    stats = turn.stats()
    count = len(turn.tokens)
    parts = [f"{count} token{'s' * (count != 1)}"]
    if stats.drafted:
        parts.append(f"τ {stats.tau:.2f} ({stats.accepted} of {stats.verified} verified tokens accepted)")
    if math.isfinite(stats.tokens_per_second):
        parts.append(f"{stats.tokens_per_second:.1f} tok/s")
    reused = f", {turn.start.reused_tokens} reused" if turn.start.reused_tokens else ""
    parts.append(f"prompt {turn.prefill.tokens} tokens in {turn.prefill.ms:.0f} ms{reused}")
    parts.append(turn.start.strategy)
    seed = seed_of(turn)
    if seed is not None:
        parts.append(f"seed {seed}")
    return " · ".join(parts)


def notes(turn: Turn) -> list[str]:
    """Sentences a person should see: why decoding is plain, what left the context, why the turn ended, warnings."""
    found = []
    if turn.start is not None:
        found.append(turn.start.reason)
        if turn.start.dropped_messages:
            found.append(f"The context is full: the {turn.start.dropped_messages} oldest messages were left out.")
    if turn.end is not None:
        found += [_ENDS.get(turn.end.finish_reason, ""), turn.end.warning, turn.end.error]
    return [note for note in found if note]
