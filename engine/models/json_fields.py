"""Typed access to the values of a checkpoint's config.json. Knows no keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from engine.errors import CheckpointError

T = TypeVar("T")


class _Required:
    """The key must be there."""


REQUIRED = _Required()


class Fields:
    """A JSON object whose values are asked for by type; null counts as absent. Errors name the key and the value."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = {key: value for key, value in values.items() if value is not None}

    def nested(self, key: str) -> Fields:
        """The object under a key; empty where there is none."""
        value = self.values.get(key, {})
        if not isinstance(value, dict):
            raise CheckpointError(f"{key} in config.json is {value!r}: it must be an object.")
        return Fields(value)

    def whole(self, key: str, default: T | _Required = REQUIRED) -> int | T:
        """A whole number from 1 to 2³¹ - 1."""
        value = self.values.get(key)
        if value is None:
            return self._default(key, default)
        if type(value) is not int or not 1 <= value < 2**31:
            raise CheckpointError(f"{key} in config.json is {value!r}: it must be a whole number above 0.")
        return value

    def number(self, key: str, default: T | _Required = REQUIRED) -> float | T:
        """A finite number above 0, as float."""
        value = self.values.get(key)
        if value is None:
            return self._default(key, default)
        real = isinstance(value, int | float) and not isinstance(value, bool)
        if not real or not 0 < value < 1e300:
            raise CheckpointError(f"{key} in config.json is {value!r}: it must be a number above 0.")
        return float(value)

    def flag(self, key: str, default: T) -> bool | T:
        """True or false."""
        value = self.values.get(key)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise CheckpointError(f"{key} in config.json is {value!r}: it must be true or false.")
        return value

    def wholes(self, key: str) -> tuple[int, ...] | None:
        """A list of whole numbers from 0; None where there is no such key or the list is empty."""
        value = self.values.get(key)
        if value is None or value == []:
            return None
        if not isinstance(value, list) or not all(type(v) is int and 0 <= v < 2**31 for v in value):
            raise CheckpointError(f"{key} in config.json is {value!r}: it must be a list of whole numbers.")
        return tuple(value)

    @staticmethod
    def _default(key: str, default: T | _Required) -> T:
        if isinstance(default, _Required):
            raise CheckpointError(f"its config.json has no {key}.")
        return default
