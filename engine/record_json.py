"""Records (dataclasses and NamedTuples) as JSON data and back, by the types of their fields.

A record is an object of its fields. A tuple of records is an object of columns, one list per field, all of one length;
an empty one is []. In columns a text is an index into a list of strings, false and true are 0 and 1. NaN is null,
infinities are "inf" and "-inf"; where a whole number, a text or a truth may be None, that is null. Knows nothing of
what the records mean.
"""

from __future__ import annotations

import math
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from engine.errors import TraceError

MAX_ROWS = 4096  # records of one tuple; the largest tree (topk 16, depth 16) has 3857 nodes

_INFINITY = {"inf": math.inf, "-inf": -math.inf}
_TYPE_NAMES = {int: "whole numbers", bool: "true or false", str: "texts", float: "numbers"}


@cache
def _schema(cls: type) -> dict[str, tuple[Any, Any]]:
    """Field name → (type, default or MISSING) of a dataclass or NamedTuple."""
    hints = get_type_hints(cls)
    if is_dataclass(cls):
        return {f.name: (hints[f.name], f.default) for f in fields(cls)}
    defaults = cls._field_defaults  # type: ignore[attr-defined]
    return {name: (hints[name], defaults.get(name, MISSING)) for name in cls._fields}  # type: ignore[attr-defined]


def _is_record(hint: Any) -> bool:
    return is_dataclass(hint) or hasattr(hint, "_fields")


def _unless_none(hint: Any) -> Any:
    """X of `X | None`, or None for every other type."""
    return next(t for t in get_args(hint) if t is not NoneType) if get_origin(hint) is UnionType else None


def write_record(value: Any, hint: Any, strings: dict[str, int]) -> Any:
    """`value` of type `hint` as JSON data; `strings` collects the texts of columns."""
    if _is_record(hint):
        return {name: write_record(getattr(value, name), t, strings) for name, (t, _) in _schema(hint).items()}
    if hint is float:
        return _number_of(value)
    if get_origin(hint) is tuple and _is_record(get_args(hint)[0]):
        return _table_of(value, get_args(hint)[0], strings)
    return list(value) if isinstance(value, tuple) else value


def _table_of(rows: tuple[Any, ...], cls: Any, strings: dict[str, int]) -> Any:
    if not rows:
        return []
    table: dict[str, list[Any]] = {}
    for (name, (hint, _)), column in zip(_schema(cls).items(), zip(*rows, strict=True), strict=True):
        if hint is float:
            table[name] = [_number_of(x) for x in column]
        elif hint in (int, bool):
            table[name] = list(map(int, column))
        else:
            table[name] = [strings.setdefault(text, len(strings)) for text in column]
    return table


def _number_of(value: float) -> float | str | None:
    if math.isfinite(value):
        return value
    return None if math.isnan(value) else "inf" if value > 0 else "-inf"


class RecordReader:
    """JSON data back to records; `where` names the place in errors."""

    def __init__(self, strings: Any) -> None:
        if not isinstance(strings, list) or not all(type(s) is str for s in strings):
            raise TraceError("This trace is damaged: strings is not a list of texts.")
        self._strings: list[str] = strings

    def optional(self, data: Any, cls: Any, where: str) -> Any:
        """A record or null."""
        return None if data is None else self.read(data, cls, where)

    def read(self, data: Any, hint: Any, where: str) -> Any:
        """A value of type `hint`."""
        if _is_record(hint):
            return self._record(data, hint, where)
        inner = _unless_none(hint)
        if inner is not None:
            return None if data is None else self.read(data, inner, where)
        if get_origin(hint) is not tuple:
            return self._column([data], hint, where)[0]
        item = get_args(hint)[0]
        if _is_record(item):
            return self._table(data, item, where)
        if not isinstance(data, list):
            raise TraceError(f"This trace is damaged: {where} is not a list.")
        return tuple(self._column(data, item, where))

    def _record(self, data: Any, cls: Any, where: str) -> Any:
        schema = self._keys(data, cls, where)
        return cls(**{name: self.read(data[name], t, f"{where}, {name}") for name, t in schema.items()})

    def _keys(self, data: Any, cls: Any, where: str) -> dict[str, Any]:
        """Types of the fields that are there; a missing one must have a default."""
        if not isinstance(data, dict):
            raise TraceError(f"This trace is damaged: {where} is not an object.")
        schema = _schema(cls)
        missing = [name for name, (_, default) in schema.items() if name not in data and default is MISSING]
        if missing:
            raise TraceError(f"This trace is incomplete: {where} lacks {', '.join(missing)}.")
        return {name: hint for name, (hint, _) in schema.items() if name in data}

    def _table(self, data: Any, cls: Any, where: str) -> tuple[Any, ...]:
        if data == []:
            return ()
        schema = self._keys(data, cls, where)
        if not all(isinstance(data[name], list) for name in schema):
            raise TraceError(f"This trace is damaged: {where} holds a column that is not a list.")
        lengths = {len(data[name]) for name in schema}
        if len(lengths) != 1 or max(lengths) > MAX_ROWS:
            raise TraceError(f"This trace is damaged: {where} has columns of unequal length, or over {MAX_ROWS} rows.")
        columns = []
        for name, (hint, default) in _schema(cls).items():
            if name not in schema:
                columns.append([default] * max(lengths))
            else:
                columns.append(self._table_column(data[name], hint, f"{where}, {name}"))
        return tuple(map(cls._make, zip(*columns, strict=True)))

    def _table_column(self, data: list[Any], hint: Any, where: str) -> list[Any]:
        if hint in (int, float):
            return self._column(data, hint, where)
        values: list[Any] = [False, True] if hint is bool else self._strings
        indices = self._column(data, int, where)
        if indices and not 0 <= min(indices) <= max(indices) < len(values):
            raise TraceError(f"This trace is damaged: {where} holds a number that stands for nothing.")
        return self._column([values[i] for i in indices], hint, where)

    def _column(self, data: list[Any], hint: Any, where: str) -> list[Any]:
        """Values of one plain type."""
        kinds = set(map(type, data))
        if get_origin(hint) is Literal:
            if kinds <= {str} and set(data) <= set(get_args(hint)):
                return data
            raise TraceError(f"This trace is damaged: {where} is not one of {', '.join(get_args(hint))}.")
        if hint is float:
            return [self._float(x, where) for x in data]
        if not kinds <= {hint}:
            raise TraceError(f"This trace is damaged: {where} must hold {_TYPE_NAMES[hint]}.")
        if hint is int and data and not -(2**63) <= min(data) <= max(data) < 2**63:
            raise TraceError(f"This trace is damaged: {where} holds a number beyond 64 bits.")
        return data

    @staticmethod
    def _float(value: Any, where: str) -> float:
        if type(value) is float and math.isfinite(value):
            return value
        if value is None:
            return math.nan
        if type(value) is int and abs(value) < 2**63:
            return float(value)
        if type(value) is str and value in _INFINITY:
            return _INFINITY[value]
        raise TraceError(f"This trace is damaged: {where} must hold numbers.")
