"""The seed of a reply: a new one each time, with few digits, so that it can be read, typed and tried again."""

from __future__ import annotations

import secrets

from engine import SamplingConfig, Turn

SEEDS = 1_000_000


def with_new_seed(sampling: SamplingConfig) -> SamplingConfig:
    """The same with a seed of its own; greedy decoding needs none."""
    return sampling if sampling.temperature == 0 else sampling.with_(seed=secrets.randbelow(SEEDS))


def seed_of(turn: Turn) -> int | None:
    """The seed a turn drew with; None where every token was the likeliest, or where no round says."""
    return next((shown.settings.seed for shown in turn.rounds if shown.settings.temperature > 0), None)
