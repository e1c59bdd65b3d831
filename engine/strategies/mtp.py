"""Drafting with an MTP head: a chain from the target's last hidden state (multi-token prediction, arXiv 2412.19437).

One head, applied to its own output for every further token; it drafts as an EAGLE-3 head does, and knows no more.
"""

from __future__ import annotations

from engine.config import EngineConfig
from engine.strategies.eagle import Eagle


class Mtp(Eagle):
    """A chain of `draft_predict_length` tokens, each one pass of the head (MNN's `mtp`)."""

    name = "mtp"

    def _shape(self, config: EngineConfig) -> tuple[int, int]:
        return 1, config.draft_predict_length
