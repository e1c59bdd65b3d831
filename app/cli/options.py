"""The flags that several commands share, and the settings they make. Ranges and their words come from engine.config."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

from engine import CHOICES, RANGES, ConfigError, EngineConfig, SamplingConfig

# flag: (setting, type)
_ENGINE_FLAGS = {
    "--topk": ("eagle_topk", int),
    "--depth": ("eagle_depth", int),
    "--draft-length": ("draft_predict_length", int),
    "--lookup": ("eagle_lookup", int),
    "--min-probability": ("draft_min_probability", float),
    "--max-new-tokens": ("max_new_tokens", int),
}
_LOOKUP_FLAGS = {"--ngram-maxlen": ("ngram_match_maxlen", int)}
_LOOKUP_WORDS = {"--strictness": "draft_match_strictness", "--selection-rule": "draft_selection_rule"}
_SAMPLING_FLAGS = {
    "--temperature": ("temperature", float),
    "--top-k": ("top_k", int),
    "--top-p": ("top_p", float),
    "--min-p": ("min_p", float),
    "--repetition-penalty": ("repetition_penalty", float),
    "--seed": ("seed", int),
}
GREEDY = SamplingConfig()
_DEFAULTS: dict[str, Any] = {f.name: f.default for c in (EngineConfig, SamplingConfig) for f in fields(c)}


def add_model_flags(parser: argparse.ArgumentParser) -> None:
    """--model and --precision."""
    group = parser.add_argument_group("model")
    group.add_argument(
        "--model", metavar="NAME", help="a name from the catalog or a model folder (default: the default model)"
    )
    group.add_argument(
        "--precision",
        metavar="NAME",
        help="int8-mixed, int8, int8-rowwise or float32; a precision that is not on disk is converted once "
        "(default: int8-mixed)",
    )


def add_decoding_flags(parser: argparse.ArgumentParser) -> None:
    """How to draft: strategy and tree."""
    group = parser.add_argument_group(
        "decoding", "The model checks a tree of drafted tokens in one pass; where a default is the model's, "
        "the value comes from its folder."
    )  # fmt: skip
    group.add_argument(
        "--strategy",
        metavar="NAME",
        help="plain: one token per pass; eagle: EAGLE-3 draft tree; mtp: chain from a multi-token head; lookahead: "
        "what followed the same words before (default: the model's, usually eagle)",
    )
    _add(group, _ENGINE_FLAGS, "the model's")
    group.add_argument("--merge", dest="eagle_merge", action=argparse.BooleanOptionalAction, default=None,
                       help="copied text joins the head's tree, not replaces it (default: the model's)")  # fmt: skip
    add_lookup_flags(parser)


def add_lookup_flags(parser: argparse.ArgumentParser) -> None:
    """How lookahead finds its drafts."""
    group = parser.add_argument_group("lookahead", "Drafts come from the conversation and a file, not from a head.")
    group.add_argument("--lookup-file", type=_text_file, metavar="FILE", help="a text to draft from as well")
    group.add_argument("--ngram-update", action=argparse.BooleanOptionalAction, default=None,
                       help="also draft from the reply itself while it is written")  # fmt: skip
    for flag, key in _LOOKUP_WORDS.items():
        text = f"{CHOICES[key].help} Default: the model's."
        group.add_argument(flag, dest=key, choices=CHOICES[key].words, help=text)
    _add(group, _LOOKUP_FLAGS, "the model's")


def _text_file(text: str) -> str:
    """An absolute path: what is typed is meant from here, not from the model folder."""
    return str(Path(text).expanduser().absolute()) if text else ""


def add_sampling_flags(parser: argparse.ArgumentParser, *, chat: bool = False) -> None:
    """How a token is drawn. In a `chat` the defaults are the model's, and every reply has a seed of its own."""
    group = parser.add_argument_group("sampling", "The same seed gives the same text, with and without speculation.")
    seed = {"--seed": _SAMPLING_FLAGS["--seed"]}
    rest = {flag: setting for flag, setting in _SAMPLING_FLAGS.items() if flag not in seed}
    _add(group, rest, "the model's" if chat else "")
    _add(group, seed, "a new one for each reply, printed below it" if chat else "")


def _add(group: Any, flags: dict[str, tuple[str, type]], default: str) -> None:
    for flag, (key, kind) in flags.items():
        initial = default or f"{_DEFAULTS[key]:g}"
        group.add_argument(
            flag,
            dest=key,
            type=number(key, kind),
            metavar="N" if kind is int else "X",
            help=f"{RANGES[key].help} From {_span(key)}; default: {initial}.",
        )


def _span(key: str) -> str:
    """A range in full digits, or "0 up" where the upper end is only a technical one."""
    low, high = RANGES[key].low, RANGES[key].high
    return f"{low:g} up" if high >= 2**53 else f"{low:.10g} to {high:.10g}"


def number(key: str, kind: type) -> Callable[[str], int | float]:
    """An argparse type that checks a setting's range, so that a wrong value is a usage error."""

    def parse(text: str) -> int | float:
        try:
            return RANGES[key].check(key, kind(text), kind)
        except ConfigError as error:
            raise argparse.ArgumentTypeError(str(error)) from None
        except ValueError:
            what = "a whole number" if kind is int else "a number"
            raise argparse.ArgumentTypeError(f"{text!r} is not {what} from {RANGES[key]}") from None

    return parse


def engine_config(args: argparse.Namespace, defaults: EngineConfig) -> EngineConfig:
    """The model's settings with those given on the command line."""
    keys = [key for key, _ in (_ENGINE_FLAGS | _LOOKUP_FLAGS).values()]
    keys += ["lookup_file", "ngram_update", "eagle_merge", *_LOOKUP_WORDS.values()]
    given = {key: getattr(args, key) for key in keys if getattr(args, key, None) is not None}
    if getattr(args, "strategy", None) is not None:
        given["speculative_type"] = "" if args.strategy == "plain" else args.strategy
    return defaults.with_(**given)


def sampling_config(args: argparse.Namespace, defaults: SamplingConfig = GREEDY) -> SamplingConfig:
    """Sampling settings given on the command line, the rest from `defaults`."""
    given = {key: getattr(args, key) for key, _ in _SAMPLING_FLAGS.values() if getattr(args, key, None) is not None}
    stop = tuple(getattr(args, "stop", None) or ())
    return defaults.with_(**given, stop=stop)
