"""Plain decoding: no draft, one token per target pass (MNN's `ar`)."""

from __future__ import annotations

from collections.abc import Generator

from engine.config import EngineConfig
from engine.strategies.base import Floats, Proposal
from engine.token_tree import Candidates


class Plain:
    """Proposes nothing and needs to know nothing."""

    name = "plain"
    length = 1 << 62

    def begin(self, prompt: list[int], config: EngineConfig) -> None:
        """Nothing to prepare."""

    def draft(
        self, root: int, position: int, config: EngineConfig, max_depth: int, max_nodes: int
    ) -> Generator[Candidates, None, Proposal | None]:
        """No proposal."""
        return None
        yield

    def extend(self, position: int, hidden: Floats, tokens: list[int], next_tokens: list[int]) -> None:
        """Nothing to learn."""

    def truncate(self, length: int) -> None:
        """Nothing to forget."""

    def stop(self) -> None:
        """Nothing runs."""

    def resume(self) -> None:
        """Nothing was stopped."""
