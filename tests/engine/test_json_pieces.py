from __future__ import annotations

import json
import random

import pytest

from engine.json_pieces import loads_in_pieces

GOOD = [
    "{}",
    " [1, 2] ",
    '"text"',
    '{"a": [], "b": [1, {"c": [2, 3]}, "x"], "d": {"e": null}, "f": 1.5e3}',
    ' \n{ "a" :\t[ 1 , 2 ] , "a" : true }\r\n',
    '{"\\u00e9\\"": ["\\ud83d\\ude00", -0.0]}',
]
SIGNS = '{}[],:" \n1a\\'


def constant(name: str) -> object:
    """As the traces' reader: none is allowed."""
    raise ValueError(name)


def read(text: str, in_pieces: bool) -> object:
    """The value as text, "not JSON", or what `constant` raised."""
    try:
        if in_pieces:
            return repr(loads_in_pieces(text, constant, lambda: None))
        return repr(json.loads(text, parse_constant=constant))
    except json.JSONDecodeError:
        return "not JSON"
    except ValueError as error:
        return str(error)


@pytest.mark.parametrize("text", GOOD)
def test_it_reads_what_json_reads(text: str) -> None:
    """A recording must not depend on how it is read."""
    assert read(text, True) == read(text, False)
    assert read(text, True) != "not JSON"


@pytest.mark.parametrize("text", GOOD)
def test_it_refuses_what_json_refuses(text: str) -> None:
    """Every cut and a thousand single faults give the same answer as Python's reader, never another exception."""
    chance = random.Random(text)
    for end in range(len(text)):
        assert read(text[:end], True) == read(text[:end], False)
    for _ in range(1000):
        at = chance.randrange(len(text))
        broken = text[:at] + chance.choice(SIGNS) + text[at + chance.randrange(2) :]
        assert read(broken, True) == read(broken, False), broken


def test_constants_are_handed_on() -> None:
    """NaN is refused with the reader's own words."""
    assert read('{"a": [NaN]}', True) == "NaN"


def test_it_can_be_ended_between_two_elements() -> None:
    """Cancel must not wait for the end of 128 MiB."""
    seen = []

    def between() -> None:
        seen.append(1)
        if len(seen) == 5:
            raise KeyError("enough")

    with pytest.raises(KeyError):
        loads_in_pieces(json.dumps({"a": list(range(1000))}), constant, between)
    assert len(seen) == 5
