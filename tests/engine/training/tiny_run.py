"""A tiny target in a folder, text in its own words, and requests to train on it. Imports no PyTorch."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from engine.training.conversations import Conversation, DataSet, write_file
from engine.training.request import TrainingRequest
from tests.numpy_llama import logits
from tests.tiny import DIMS, Tiny, TinySource

SOURCE = TinySource(dims=replace(DIMS, layer_nums=3, hidden_taps=(1, 2, 3)), context=0.3)


def weight_names() -> list[str]:
    """Every weight of the tiny target by its Hugging Face name."""
    parts = [f"self_attn.{m}_proj" for m in "qkvo"] + [f"mlp.{m}_proj" for m in ("gate", "up", "down")]
    parts += ["input_layernorm", "post_attention_layernorm"]
    layers = [f"model.layers.{i}.{part}.weight" for i in range(SOURCE.dims.layer_nums) for part in parts]
    return ["model.embed_tokens.weight", "model.norm.weight", "lm_head.weight", *layers]


def build(folder: Path, precision: Any = "float32") -> Path:
    """A model folder without a head."""
    return Tiny(precision=precision, head="none", source=SOURCE).build(folder)


@cache
def text(count: int = 60, length: int = 28) -> DataSet:
    """Conversations: a random prompt, and the target's own likeliest continuation of it."""
    weights = {name: SOURCE.tensor(name) for name in weight_names()}
    rng, out = np.random.default_rng(2), []
    for _ in range(count):
        ids = [1, *rng.integers(3, SOURCE.dims.vocab_size, 4).tolist()]
        while len(ids) < length:
            ids.append(int(logits(ids, weights, SOURCE.dims)[-1].argmax()))
        out.append(Conversation(np.array(ids, np.int32), ((5, length),)))
    return DataSet.of(out)


def request(folder: Path, **changes: Any) -> TrainingRequest:
    """Train in `folder` for a few updates on one thread, in float32; `plan` is merged."""
    if not (folder / "model").exists():
        build(folder / "model")
        write_file(folder / "text.npz", text())
    plan = {"steps": 12, "batch_tokens": 256, "held_out": 0.2, "evaluations": 3, **changes.pop("plan", {})}
    values: dict[str, Any] = {
        "model": folder / "model",
        "work": folder / "work",
        "data": (folder / "text.npz",),
        "compute": "float32",
        "device": "cpu",
        "threads": 1,
        "draft_vocab": 200,
        **changes,
    }
    return TrainingRequest(plan=plan, **values)
