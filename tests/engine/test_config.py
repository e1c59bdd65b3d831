"""Settings that are words, files and switches: what they allow, and errors that say it."""

from __future__ import annotations

from typing import Any

import pytest

from engine.config import CHOICES, LOOKUP_FILE, EngineConfig
from engine.errors import ConfigError


def test_lookahead_has_the_names_and_defaults_of_mnn() -> None:
    """A config.json written for MNN means the same here."""
    config = EngineConfig.from_mapping({"speculative_type": "lookahead"})
    assert (config.draft_match_strictness, config.draft_selection_rule) == ("low", "freqxlen")
    assert (config.ngram_match_maxlen, config.lookup_file, config.ngram_update) == (4, "lookup_file.txt", False)
    assert LOOKUP_FILE == "lookup_file.txt"
    mnn = {
        "draft_match_strictness": "high",
        "draft_selection_rule": "fcfs",
        "ngram_match_maxlen": 8,
        "lookup_file": "x",
    }
    assert EngineConfig.from_mapping(mnn) == EngineConfig(**mnn)


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("draft_match_strictness", "strict", "'strict': use one of low, medium, high"),
        ("draft_match_strictness", None, "None: use one of low"),
        ("draft_selection_rule", "best", "'best': use one of freqxlen, fcfs"),
        ("draft_selection_rule", ["fcfs"], "use one of freqxlen, fcfs"),
        ("ngram_match_maxlen", 0, "0: give a value from 1 to 8"),
        ("ngram_match_maxlen", 9, "9: give a value from 1 to 8"),
        ("ngram_match_maxlen", 2.5, "whole number from 1 to 8"),
        ("ngram_update", 1, "1: give true or false"),
        ("exact", "yes", "'yes': give true or false"),
        ("lookup_file", None, "None: give the path of a text file"),
        ("speculative_type", 3, "3: give a name"),
    ],
)
def test_wrong_values_name_the_key_and_what_is_allowed(key: str, value: Any, said: str) -> None:
    """One sentence a person can act on, from any front end."""
    for attempt in (lambda: EngineConfig(**{key: value}), lambda: EngineConfig().with_(**{key: value})):
        with pytest.raises(ConfigError, match=said) as error:
            attempt()
        assert str(error.value).startswith(f"{key} is ")


def test_every_choice_has_its_default_and_words() -> None:
    """The default is allowed, and the help says which part of the program it belongs to."""
    for key, choice in CHOICES.items():
        assert getattr(EngineConfig(), key) in choice.words
        assert choice.help.startswith("Lookahead: ")


def test_a_misspelt_key_suggests_the_right_one() -> None:
    """A typo must not be a silent default."""
    with pytest.raises(ConfigError, match="did you mean ngram_update"):
        EngineConfig.from_mapping({"ngram_updates": True})
