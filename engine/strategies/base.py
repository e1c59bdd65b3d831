"""What every way of drafting shares: a proposal of tokens as a tree, and the hooks that keep a draft in step.

Knows no target pass and no sampling: those belong to the decoder, which is the same for all strategies.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from engine.config import EngineConfig
from engine.token_tree import Candidates, PrunedTree
from engine.trace import DraftedBy

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Proposal:
    """A draft: every candidate for the record, the rows to verify (parents before children), and who made it."""

    candidates: Candidates
    rows: PrunedTree
    drafted_by: DraftedBy


class Strategy(Protocol):
    """One way of drafting. Draft state is only touched by these calls, in this order within a round."""

    name: str

    def begin(self, prompt: list[int], config: EngineConfig) -> None:
        """A turn begins with this text, of which the rows known already are not run again.

        Raises `ConfigError` when the strategy is the one `config` asks for and cannot work as it says.
        """

    def draft(
        self, root: int, position: int, config: EngineConfig, max_depth: int, max_nodes: int
    ) -> Generator[Candidates, None, Proposal | None]:
        """Propose what follows `root` (at absolute `position`). Yields the candidates after each level.

        None: nothing to propose, decode one token plainly. Leaves no uncommitted draft state behind, also when
        closed or interrupted.
        """

    def extend(self, position: int, hidden: Floats, tokens: list[int], next_tokens: list[int]) -> None:
        """The text from `position` on is now `tokens` [L], followed each by `next_tokens` [L].

        `hidden`: the target's streams for those rows, [L, streams · hidden], valid during the call only. Whatever
        was known from `position` on is replaced.
        """

    def truncate(self, length: int) -> None:
        """Forget everything about positions from `length` on."""

    @property
    def length(self) -> int:
        """Positions known without a gap from 0: the text may be reused up to here."""

    def stop(self) -> None:
        """End a pass in progress (any thread)."""

    def resume(self) -> None:
        """Allow passes again."""
