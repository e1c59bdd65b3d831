"""Settings of the engine and of sampling: names, ranges, defaults.

Key names are MNN's (`llmconfig.hpp`). Knows every range and says so in its errors; knows nothing of models or files.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Self

from engine.errors import ConfigError

LOOKUP_FILE = "lookup_file.txt"  # MNN's default
CHAT_KEYS = ("temperature", "top_k", "top_p", "min_p", "repetition_penalty")  # of SamplingConfig; a model may set them


@dataclass(frozen=True, slots=True)
class Range:
    """Allowed values of one numeric setting; `low` and `high` are inclusive."""

    low: float
    high: float
    help: str

    def check(self, key: str, value: Any, kind: type) -> int | float:
        """Return `value` as `kind`, or raise `ConfigError` naming key, value and range."""
        whole = kind is int
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not math.isfinite(value) or (whole and value != int(value)):
            raise ConfigError(f"{key} is {value!r}: give {'a whole number' if whole else 'a number'} from {self}.")
        if not self.low <= value <= self.high:
            raise ConfigError(f"{key} is {value!r}: give a value from {self}.")
        return int(value) if whole else float(value)

    def __str__(self) -> str:
        return f"{self.low:g} to {self.high:g}"


@dataclass(frozen=True, slots=True)
class Choice:
    """Allowed values of one setting that is a word."""

    words: tuple[str, ...]
    help: str

    def check(self, key: str, value: Any) -> str:
        """Return `value`, or raise `ConfigError` naming key, value and choices."""
        if not isinstance(value, str) or value not in self.words:
            raise ConfigError(f"{key} is {value!r}: use one of {self}.")
        return value

    def __str__(self) -> str:
        return ", ".join(self.words)


RANGES: dict[str, Range] = {
    "eagle_topk": Range(1, 16, "Children tried per node of the draft tree; 1 makes a chain."),
    "eagle_depth": Range(1, 16, "Levels of the draft tree; each costs one pass of the draft head."),
    "eagle_lookup": Range(0, 16, "Where the last N tokens stood before, copy what followed: no draft pass; 0 never."),
    "draft_predict_length": Range(1, 64, "Nodes of the tree that the target model verifies in one pass."),
    "draft_min_probability": Range(0, 1, "Draft only tokens whose path is at least this likely, the best one always."),
    "ngram_match_maxlen": Range(1, 8, "Lookahead: most tokens at the end of the text that are looked up."),
    "max_new_tokens": Range(1, 1_000_000, "Longest reply, in tokens."),
    "prefill_chunk": Range(16, 4096, "Prompt tokens per target pass while reading the prompt."),
    "plain_rows": Range(1, 2, "Rows per pass of plain decoding; 2 makes it bit-comparable with speculation."),
    "temperature": Range(0, 5, "Randomness of the reply; 0 always takes the likeliest token."),
    "top_k": Range(0, 1_000_000, "Sample among this many likeliest tokens; 0 means all."),
    "top_p": Range(0, 1, "Sample among the likeliest tokens that together hold this probability; 1 means all."),
    "min_p": Range(0, 1, "Leave out tokens less likely than this share of the likeliest; 0 means none."),
    "repetition_penalty": Range(0.1, 10, "Above 1, tokens already in the text become less likely."),
    "seed": Range(0, 2**63 - 1, "The same seed gives the same reply."),
}
CHOICES: dict[str, Choice] = {
    "draft_match_strictness": Choice(
        ("low", "medium", "high"),
        "Lookahead: how sure a continuation must be to be drafted. low takes any; only freqxlen asks for more.",
    ),
    "draft_selection_rule": Choice(
        ("freqxlen", "fcfs"),
        "Lookahead: which continuation wins. freqxlen: occurrences times matched length; fcfs: the first one seen.",
    ),
}


class _Checked:
    """Mixin for frozen dataclasses whose fields have a `Range` or a `Choice`."""

    __slots__ = ()

    def __post_init__(self) -> None:
        for f in fields(self):  # type: ignore[arg-type]
            if f.name in RANGES:
                kind = int if f.type in (int, "int") else float
                object.__setattr__(self, f.name, RANGES[f.name].check(f.name, getattr(self, f.name), kind))
            elif f.name in CHOICES:
                CHOICES[f.name].check(f.name, getattr(self, f.name))

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> Self:
        """Build from a JSON object; an unknown key is an error that suggests the nearest known one."""
        known = [f.name for f in fields(cls)]  # type: ignore[arg-type]
        for key in values:
            if key not in known:
                near = difflib.get_close_matches(key, known, 1)
                hint = f"did you mean {near[0]}?" if near else f"known settings are {', '.join(known)}."
                raise ConfigError(f"Unknown setting {key!r}: {hint}")
        return cls(**values)

    def with_(self, **changes: Any) -> Self:
        """A copy with some settings changed and checked again."""
        return replace(self, **changes)  # type: ignore[type-var]


@dataclass(frozen=True, slots=True)
class EngineConfig(_Checked):
    """How to decode. Acts at the next round when replaced on a running session.

    `speculative_type` is MNN's: "eagle", "mtp", "lookahead" or "" for plain decoding. `exact`: the text is that of
    plain decoding to the last bit, at any tree (docs/architecture.md says how). `lookup_file`: text that lookahead
    drafts from besides the conversation, relative to the model folder; only the default name may be missing.
    `ngram_update`: lookahead learns from the reply while it is written, not only from what came before it.
    `eagle_lookup`, which MNN does not have: under eagle, where at least that many tokens at the end of the text stood
    before, what followed them is drafted as a chain, as long as the match, with no draft pass; 0 never.
    `eagle_merge`: a chain that does not fill `draft_predict_length` joins the head's tree instead of replacing it.
    `draft_min_probability`: nodes whose path the draft believes less are not verified, and a head is not asked for
    a level that hardly can hold others; so the draft is large where it is sure, and small where it is not. 0: never.
    """

    speculative_type: str = "eagle"
    eagle_topk: int = 1
    eagle_depth: int = 3
    draft_predict_length: int = 3
    max_new_tokens: int = 1024
    prefill_chunk: int = 128
    plain_rows: int = 1
    exact: bool = True
    draft_match_strictness: str = "low"
    draft_selection_rule: str = "freqxlen"
    ngram_match_maxlen: int = 4
    lookup_file: str = LOOKUP_FILE
    ngram_update: bool = False
    eagle_lookup: int = 0
    eagle_merge: bool = False
    draft_min_probability: float = 0.0

    def __post_init__(self) -> None:
        _Checked.__post_init__(self)
        for key in ("exact", "ngram_update", "eagle_merge"):
            if not isinstance(getattr(self, key), bool):
                raise ConfigError(f"{key} is {getattr(self, key)!r}: give true or false.")
        if not isinstance(self.speculative_type, str):
            raise ConfigError(f"speculative_type is {self.speculative_type!r}: give a name.")
        if not isinstance(self.lookup_file, str):
            raise ConfigError(f"lookup_file is {self.lookup_file!r}: give the path of a text file.")

    @property
    def least_logprob(self) -> float:
        """`draft_min_probability` as a log-probability."""
        return math.log(self.draft_min_probability) if self.draft_min_probability else -math.inf


@dataclass(frozen=True, slots=True)
class SamplingConfig(_Checked):
    """How a token is drawn from the target's logits. Temperature 0 is greedy and ignores top_k, top_p, min_p, seed."""

    temperature: float = 0.0
    top_k: int = 40
    top_p: float = 0.95
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    seed: int = 0
    stop: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        _Checked.__post_init__(self)
        if isinstance(self.stop, str) or not all(isinstance(s, str) and s for s in self.stop):
            raise ConfigError(f"stop is {self.stop!r}: give a list of non-empty strings.")
        object.__setattr__(self, "stop", tuple(self.stop))


# What a chat draws with where neither the user nor the model's folder says otherwise: small models run in circles when
# they always take the likeliest token, and say less sensible things the warmer they are (docs/log.md).
CHAT_SAMPLING = SamplingConfig(temperature=0.4, top_k=40, top_p=0.9, repetition_penalty=1.05)


def prompt_room(context_length: int, max_new_tokens: int) -> int:
    """Most tokens a prompt may take: the longest reply, or a quarter of the context, and two tokens stay free."""
    return context_length - min(max_new_tokens, context_length // 4) - 2


def tree_pool(topk: int, depth: int) -> int:
    """Candidate nodes a draft tree makes: k + (d - 1)·k² (MNN `tokentree.hpp`)."""
    return topk + (depth - 1) * topk * topk


def verified_nodes(config: EngineConfig) -> int:
    """Nodes the target verifies per round, root excluded: min(draft_predict_length, pool)."""
    return min(config.draft_predict_length, tree_pool(config.eagle_topk, config.eagle_depth))
