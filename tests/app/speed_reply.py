"""One measured reply: which prompts, with which settings, what is told of it, and the reply of the engine alone."""

from __future__ import annotations

import argparse
import json
from typing import Any

from app.cli.bench_prompts import BUILT_IN
from engine import ChatSession, EngineConfig, Model, SamplingConfig, Turn

PROMPTS = [BUILT_IN[i].text for i in (0, 2, 4, 6, 8)]
PARTS = ("draft", "verify", "commit", "host")
SETTINGS = ("eagle_topk", "eagle_depth", "draft_predict_length", "eagle_lookup")


def told(turn: Turn) -> dict[str, Any]:
    """Tokens per second, the text, and milliseconds per round: what it was spent on, and between two rounds."""
    assert turn.end is not None
    count = len(turn.rounds)
    whole = turn.end.total_ms - turn.rounds[0].timings.start
    sums = {part: sum(getattr(r.timings, part) for r in turn.rounds) / count for part in PARTS}
    parts = {**sums, "between": whole / count - sum(sums.values())}
    rate = 1000 * sum(len(r.emitted) for r in turn.rounds) / whole
    return {"rate": rate, "text": turn.text, "parts": parts, "ms": whole}


def with_settings(config: EngineConfig, args: argparse.Namespace) -> EngineConfig:
    """The model's own settings, or those asked for."""
    changes: dict[str, Any] = {"max_new_tokens": args.new_tokens}
    if args.settings:
        changes |= dict(zip(SETTINGS, map(int, args.settings.split(",")), strict=True))
    return config.with_(**changes)


def answer(found: dict[str, Any]) -> None:
    """One line to whoever asked."""
    print(json.dumps(found), flush=True)


def alone(model: Model, order: str, args: argparse.Namespace) -> dict[str, Any]:
    """One reply of the engine and nothing else."""
    prompt = PROMPTS[int(order.split()[1])]
    session = ChatSession(model, with_settings(model.defaults, args))
    turn = Turn()
    for event in session.generate([{"role": "user", "content": prompt}], SamplingConfig()):
        turn.add(event)
    return told(turn)
