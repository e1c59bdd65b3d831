"""EAGLE drafting that copies where the text repeats itself: no draft pass there, and longer drafts.

With `eagle_lookup` 0 it is `Eagle` and nothing else.
"""

from __future__ import annotations

from collections.abc import Generator

from engine.config import EngineConfig
from engine.draft_head import DraftHead
from engine.ragged_tree import RaggedTree
from engine.strategies.base import Floats, Proposal
from engine.strategies.copying import Copier
from engine.strategies.eagle import Eagle
from engine.token_tree import Candidates


class EagleLookup(Eagle):
    """Asks the copier first and the head otherwise. The head catches up when it is asked again."""

    def __init__(self, head: DraftHead) -> None:
        super().__init__(head)
        self._copier = Copier()

    def begin(self, prompt: list[int], config: EngineConfig) -> None:
        """The text so far; see `Strategy.begin`."""
        super().begin(prompt, config)
        self._copier.truncate(0)
        self._copier.put(0, prompt)

    def extend(self, position: int, hidden: Floats, tokens: list[int], next_tokens: list[int]) -> None:
        """More text; see `Strategy.extend`."""
        super().extend(position, hidden, tokens, next_tokens)
        self._copier.put(position, [*tokens, next_tokens[-1]])

    def draft(
        self, root: int, position: int, config: EngineConfig, max_depth: int, max_nodes: int
    ) -> Generator[Candidates, None, Proposal | None]:
        """A copied chain where there is one, else the head's tree; see `Strategy.draft`."""
        most = min(max_depth, max_nodes)
        chain = self._copier.copied(position, config.eagle_lookup)[:most] if config.eagle_lookup and most > 0 else []
        if not chain:
            return (yield from super().draft(root, position, config, max_depth, max_nodes))
        tree = RaggedTree()
        for parent, child in enumerate(chain):
            tree.add(parent, [child])
        yield tree.candidates
        return Proposal(tree.candidates, tree.finalize(root, len(chain)), "copy")
