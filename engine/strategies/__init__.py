"""Ways of generating, behind one factory. A new one is a file here and a line in `_MAKERS`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from engine.errors import ConfigError
from engine.strategies.base import Strategy
from engine.strategies.eagle_lookup import EagleLookup
from engine.strategies.lookahead import Lookahead
from engine.strategies.mtp import Mtp
from engine.strategies.plain import Plain

if TYPE_CHECKING:
    from engine.model import Model


def _eagle(model: Model) -> Strategy | str:
    if model.draft is None:
        return f"{model.name} has no EAGLE-3 draft head, so it decodes plainly."
    return EagleLookup(model.draft)


def _mtp(model: Model) -> Strategy | str:
    head = model.heads.get("mtp")
    if head is None:
        return f"{model.name} has no MTP head, so it decodes plainly."
    if not model.target.can_give_last:
        return f"{model.name} was converted before MTP heads were known, so it decodes plainly: make its folder again."
    return Mtp(head)


def _lookahead(model: Model) -> Strategy | str:
    return Lookahead(model.folder, model.tokenizer.encode)


_MAKERS: dict[str, tuple[str, Callable[[Model], Strategy | str]]] = {
    "plain": ("One token per target pass", lambda _: Plain()),
    "eagle": ("A draft head proposes a tree, the target verifies it in one pass (EAGLE-3)", _eagle),
    "mtp": ("A small head proposes a chain, one token per pass of its own", _mtp),
    "lookahead": ("What followed the same tokens before is proposed again: for text that repeats itself", _lookahead),
}


def strategies() -> dict[str, str]:
    """Known strategies: name → one line of description, in the order to show them."""
    return {name: text for name, (text, _) in _MAKERS.items()}


def canonical_name(name: str) -> str:
    """The strategy a `speculative_type` means ("" and MNN's "ar" are plain). Raises `ConfigError` listing the known."""
    name = {"": "plain", "ar": "plain"}.get(name, name)
    if name not in _MAKERS:
        raise ConfigError(f"Unknown strategy {name!r}: use one of {', '.join(_MAKERS)}.")
    return name


def create_strategy(name: str, model: Model) -> tuple[Strategy, str]:
    """The strategy, or plain decoding and the reason why the model cannot do it ("" if it can)."""
    made = _MAKERS[canonical_name(name)][1](model)
    return (Plain(), made) if isinstance(made, str) else (made, "")


__all__ = ["Strategy", "canonical_name", "create_strategy", "strategies"]
