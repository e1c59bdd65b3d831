from __future__ import annotations

import argparse
from pathlib import Path

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


def test_a_chat_draws_as_its_model_says() -> None:
    """What is given wins; the rest comes from the model, where a measurement is greedy."""
    model = SamplingConfig(temperature=0.4, top_p=0.9)
    assert options.sampling_config(parse("--top-p", "0.5"), model) == SamplingConfig(temperature=0.4, top_p=0.5)


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
        ("--ngram-maxlen", "9", "1 to 8"),
        ("--strictness", "strict", "choose from"),
        ("--selection-rule", "best", "choose from"),
    ],
)
def test_wrong_values_name_flag_and_range(flag: str, value: str, said: str) -> None:
    """argparse prints this after the usage line."""
    with pytest.raises(argparse.ArgumentError, match=said) as error:
        parse(f"{flag}={value}")
    assert flag in str(error.value)


def test_lookahead_has_flags(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file is meant from where one stands, a folder's own setting from the folder; "" takes a file away again."""
    monkeypatch.chdir(tmp_path)
    rules = ["--ngram-maxlen", "3", "--strictness", "medium", "--selection-rule", "fcfs"]
    found = options.engine_config(
        parse("--strategy", "lookahead", *rules, "--ngram-update", "--lookup-file", "notes.txt"), EngineConfig()
    )
    assert found == EngineConfig(
        speculative_type="lookahead",
        ngram_match_maxlen=3,
        draft_match_strictness="medium",
        draft_selection_rule="fcfs",
        ngram_update=True,
        lookup_file=str(tmp_path / "notes.txt"),
    )
    model = EngineConfig(lookup_file="mine.txt", ngram_update=True)
    assert options.engine_config(parse("--lookup-file", "", "--no-ngram-update"), model) == EngineConfig(lookup_file="")
