from __future__ import annotations

import argparse

import pytest

from app.cli import options
from engine import EngineConfig, SamplingConfig


def parse(*argv: str) -> argparse.Namespace:
    """The shared flags alone."""
    parser = argparse.ArgumentParser(exit_on_error=False)
    options.add_model_flags(parser)
    options.add_decoding_flags(parser)
    options.add_sampling_flags(parser)
    return parser.parse_args(argv)


def test_nothing_given_changes_nothing() -> None:
    """The folder's settings are the defaults, not the command line's."""
    model = EngineConfig(eagle_topk=4, eagle_depth=5, draft_predict_length=12, prefill_chunk=64)
    assert options.engine_config(parse(), model) == model
    assert options.sampling_config(parse()) == SamplingConfig()


def test_zero_is_a_value() -> None:
    """--temperature 0 and --top-k 0 are given, not missing."""
    found = options.sampling_config(parse("--temperature", "0", "--top-k", "0", "--seed", "0"))
    assert (found.temperature, found.top_k, found.seed) == (0.0, 0, 0)


@pytest.mark.parametrize(
    ("flag", "value", "said"),
    [
        ("--topk", "0", "1 to 16"),
        ("--depth", "17", "1 to 16"),
        ("--draft-length", "65", "1 to 64"),
        ("--topk", "2.5", "'2.5' is not a whole number from 1 to 16"),
        ("--temperature", "hot", "'hot' is not a number from 0 to 5"),
        ("--temperature", "nan", "number from 0 to 5"),
        ("--top-p", "1.1", "0 to 1"),
        ("--seed", "-1", "seed is -1"),
    ],
)
def test_wrong_values_name_flag_and_range(flag: str, value: str, said: str) -> None:
    """argparse prints this after the usage line."""
    with pytest.raises(argparse.ArgumentError, match=said) as error:
        parse(f"{flag}={value}")
    assert flag in str(error.value)
