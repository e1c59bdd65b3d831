"""ModelDims: defaults, JSON both ways, and one clear error per impossible value."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engine.errors import ConfigError
from engine.models.dims import ModelDims, default_taps

SMALL: dict[str, Any] = {
    "hidden_size": 64,
    "layer_nums": 30,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "intermediate_size": 128,
    "vocab_size": 300,
    "context_length": 512,
}


def test_taps_default_to_eagle3_layers() -> None:
    """A head trained for the usual layers must find them tapped without any setting."""
    assert ModelDims(**SMALL).hidden_taps == (2, 15, 27)


@pytest.mark.parametrize("layers", range(1, 9))
def test_default_taps_exist_in_small_models(layers: int) -> None:
    """n - 3 is negative for tiny models, which tests and teaching use."""
    assert all(0 <= k <= layers for k in default_taps(layers))


def test_json_round_trip_keeps_every_value() -> None:
    """config.json is where a model folder keeps its dimensions."""
    dims = ModelDims(**SMALL, rope_theta=1e5, tied_embeddings=True, stop_token_ids=(2, 0), bos_token_id=1)
    assert ModelDims.from_mapping(json.loads(json.dumps(dims.to_mapping()))) == dims


def test_other_keys_of_config_json_are_ignored() -> None:
    """The same file also holds engine settings."""
    assert ModelDims.from_mapping({**SMALL, "eagle_topk": 4}).hidden_size == 64


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("hidden_size", 0),
        ("hidden_size", 1.5),
        ("hidden_size", "64"),
        ("layer_nums", True),
        ("vocab_size", 2**40),
        ("num_key_value_heads", 3),
        ("head_dim", 15),
        ("rope_theta", float("nan")),
        ("rms_norm_eps", 0),
        ("tied_embeddings", 1),
        ("hidden_taps", [2, 15]),
        ("hidden_taps", [2, 15, 31]),
        ("hidden_taps", 2),
        ("stop_token_ids", [300]),
        ("stop_token_ids", 2),
        ("bos_token_id", 300),
        ("bos_token_id", None),
    ],
)
def test_an_impossible_value_is_named(key: str, value: Any) -> None:
    """A damaged or hand-edited config must fail with the key's name, not deep in a graph."""
    with pytest.raises(ConfigError, match=key):
        ModelDims.from_mapping({**SMALL, key: value})


@pytest.mark.parametrize("key", SMALL)
def test_a_missing_key_is_named(key: str) -> None:
    """There is no sane default for a size."""
    with pytest.raises(ConfigError, match=f"{key} is missing"):
        ModelDims.from_mapping({k: v for k, v in SMALL.items() if k != key})
