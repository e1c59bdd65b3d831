"""The shape of a model: every number that a graph, a cache or a tokenizer needs. Knows no file format."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Self

from engine.errors import ConfigError

_POSITIVE = (
    "hidden_size",
    "layer_nums",
    "num_attention_heads",
    "num_key_value_heads",
    "head_dim",
    "intermediate_size",
    "vocab_size",
    "context_length",
)


@dataclass(frozen=True, slots=True)
class ModelDims:
    """Dimensions of a llama-like decoder; `config.json` holds them under these names.

    `hidden_taps`: three layer counts k; the draft head reads the residual stream after k layers (k = 0: the
    embeddings). Given none, they are 2, n//2 and n-3 of n layers, as in EAGLE-3.
    `stop_token_ids`: tokens that end a turn, the end-of-sequence token first. `bos_token_id` -1: the model has none.
    A value that cannot be raises `ConfigError` with its name.
    """

    hidden_size: int
    layer_nums: int
    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    intermediate_size: int
    vocab_size: int
    context_length: int
    rope_theta: float = 10_000.0
    rms_norm_eps: float = 1e-5
    tied_embeddings: bool = False
    hidden_taps: tuple[int, int, int] = ()  # type: ignore[assignment]  # empty: filled in from layer_nums
    stop_token_ids: tuple[int, ...] = ()
    bos_token_id: int = -1

    def __post_init__(self) -> None:
        for key in _POSITIVE:
            self._whole(key, getattr(self, key), 1, 2**31 - 1)
        for key in ("rope_theta", "rms_norm_eps"):
            self._positive_number(key)
        if not isinstance(self.tied_embeddings, bool):
            raise ConfigError(f"tied_embeddings is {self.tied_embeddings!r}: it must be true or false.")
        self._check_heads()
        taps = self._ids("hidden_taps", 0, self.layer_nums) or default_taps(self.layer_nums)
        if len(taps) != 3:
            raise ConfigError(f"hidden_taps is {list(taps)}: give three layer counts.")
        object.__setattr__(self, "hidden_taps", taps)
        object.__setattr__(self, "stop_token_ids", self._ids("stop_token_ids", 0, self.vocab_size - 1))
        self._whole("bos_token_id", self.bos_token_id, -1, self.vocab_size - 1)

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> Self:
        """Read the dimensions out of a JSON object, ignoring its other keys. A missing key raises `ConfigError`."""
        for key in _POSITIVE:
            if key not in values:
                raise ConfigError(f"{key} is missing.")
        return cls(**{f.name: values[f.name] for f in fields(cls) if f.name in values})

    def with_taps(self, taps: Iterable[int]) -> Self:
        """The same model with other hidden streams for the draft head; checked."""
        return replace(self, hidden_taps=tuple(taps))  # type: ignore[arg-type]

    def to_mapping(self) -> dict[str, Any]:
        """The same as plain JSON values."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return {key: list(value) if isinstance(value, tuple) else value for key, value in values.items()}

    def _check_heads(self) -> None:
        if self.num_attention_heads % self.num_key_value_heads:
            raise ConfigError(
                f"num_attention_heads is {self.num_attention_heads}: it must be a multiple of num_key_value_heads, "
                f"{self.num_key_value_heads}."
            )
        if self.head_dim % 2:
            raise ConfigError(f"head_dim is {self.head_dim}: rotary positions need an even number.")

    def _whole(self, key: str, value: Any, low: int, high: int) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise ConfigError(f"{key} is {value!r}: it must be a whole number from {low} to {high}.")
        return value

    def _positive_number(self, key: str) -> None:
        value = getattr(self, key)
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not math.isfinite(value) or value <= 0:
            raise ConfigError(f"{key} is {value!r}: it must be a number above 0.")
        object.__setattr__(self, key, float(value))

    def _ids(self, key: str, low: int, high: int) -> tuple[int, ...]:
        values = getattr(self, key)
        if not isinstance(values, list | tuple):
            raise ConfigError(f"{key} is {values!r}: it must be a list of whole numbers.")
        return tuple(self._whole(key, value, low, high) for value in values)


def default_taps(layer_nums: int) -> tuple[int, int, int]:
    """EAGLE-3's choice of layers to tap, (2, n//2, n-3), kept inside 0..n for models of a few layers."""
    low, mid, high = (min(max(k, 0), layer_nums) for k in (2, layer_nums // 2, layer_nums - 3))
    return low, mid, high
