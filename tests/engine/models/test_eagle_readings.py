"""Ids of hidden streams: each source's convention, and the doubt that stays."""

from __future__ import annotations

from typing import Any

import pytest

from engine.errors import CheckpointError
from engine.models.eagle_readings import read_taps
from engine.models.json_fields import Fields
from tests.tiny_eagle import TARGET

TOP = "eagle_aux_hidden_state_layer_ids"


def taps(values: dict[str, Any]) -> tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]:
    """Read for the tiny target of 12 layers, whose usual taps are (2, 6, 9)."""
    return read_taps(Fields(values), Fields(values), TARGET, [])


@pytest.mark.parametrize(
    ("values", "expected", "others"),
    [
        ({}, (2, 6, 9), ()),
        ({TOP: None}, (2, 6, 9), ()),
        ({TOP: []}, (2, 6, 9), ()),
        ({TOP: [2, 6, 9]}, (2, 6, 9), ()),
        ({TOP: [1, 5, 8]}, (1, 5, 8), ((2, 6, 9),)),
        ({TOP: [0, 6, 11]}, (0, 6, 11), ((1, 7, 12),)),
        ({TOP: [3, 6, 12]}, (3, 6, 12), ()),
        ({"aux_hidden_state_layer_ids": [3, 6, 10]}, (3, 6, 10), ((4, 7, 11),)),
        ({"hidden_layers_list": [3, 6, 10]}, (3, 6, 10), ((4, 7, 11),)),
        ({"target_layer_ids": [3, 6, 10]}, (4, 7, 11), ((3, 6, 10),)),
        ({"eagle_config": {TOP: [1, 5, 8]}}, (2, 6, 9), ()),
        ({"eagle_config": {TOP: [1, 6, 10]}}, (2, 7, 11), ((1, 6, 10),)),
        ({"eagle_config": {TOP: [1, 6, 12]}}, (1, 6, 12), ()),
        ({"eagle_config": {TOP: [1, 6, 10]}, TOP: [3, 4, 5]}, (2, 7, 11), ((1, 6, 10),)),
        ({"eagle_config": {TOP: None}, TOP: [3, 4, 5]}, (3, 4, 5), ((4, 5, 6),)),
    ],
)
def test_each_convention(
    values: dict[str, Any], expected: tuple[int, ...], others: tuple[tuple[int, ...], ...]
) -> None:
    """Off by one here is the most common silent fault of EAGLE-3 ports."""
    assert taps(values) == (expected, others)


def test_streams_are_taken_low_to_high() -> None:
    """Engines capture in layer order whatever the config's order."""
    warnings: list[str] = []
    fields = Fields({TOP: [9, 2, 6]})
    assert read_taps(fields, fields, TARGET, warnings) == ((2, 6, 9), ())
    assert any("ascending" in w for w in warnings)


@pytest.mark.parametrize(
    ("ids", "words"),
    [
        ([2, 6], "three different layers"),
        ([2, 6, 9, 11], "three different layers"),
        ([2, 6, 6], "three different layers"),
        ([2, 6, 13], "12 layers.*another model"),
        ([2, 6, -1], "whole numbers"),
        ([2, 6, "9"], "whole numbers"),
        (7, "whole numbers"),
    ],
)
def test_impossible_ids_are_named(ids: Any, words: str) -> None:
    """A head for a deeper model must not be cut to fit."""
    with pytest.raises(CheckpointError, match=words):
        taps({TOP: ids})
