"""EAGLE drafting that copies where the text repeats itself: no draft pass there, and longer drafts.

With `eagle_merge` a copied chain that does not fill the draft joins the head's tree: a pass more, and more accepted.
With `eagle_lookup` 0 it is `Eagle` and nothing else.
"""

from __future__ import annotations

from collections.abc import Generator

from engine.config import EngineConfig
from engine.draft_head import DraftHead
from engine.ragged_tree import RaggedTree, graft
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
        """A copied chain where there is one, else the head's tree, or both as one; see `Strategy.draft`."""
        most = min(max_depth, max_nodes)
        chain = self._copier.copied(position, config.eagle_lookup)[:most] if config.eagle_lookup and most > 0 else []
        proposal = None
        if not chain or (config.eagle_merge and len(chain) < min(config.draft_predict_length, most)):
            proposal = yield from super().draft(root, position, config, max_depth, max_nodes)
        if not chain:
            return proposal
        if proposal is None:
            tree, most = RaggedTree(), len(chain)
            for parent, child in enumerate(chain):
                tree.add(parent, [child])
        else:
            tree, most = graft(proposal.candidates, chain), min(config.draft_predict_length, max_nodes)
        yield tree.candidates
        rows = tree.finalize(root, most, config.least_logprob)
        return Proposal(tree.candidates, rows, "copy" if proposal is None else "merged")
