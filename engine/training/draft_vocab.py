"""Which tokens the draft head knows: those that the target writes most. numpy."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.training.conversations import DataSet

DEFAULT_SIZE = 8192


class DraftVocab(NamedTuple):
    """Target ids of the draft tokens, ascending."""

    ids: NDArray[np.int64]  # [Vd]
    coverage: float  # share of the replies' tokens that are among them

    @property
    def d2t(self) -> NDArray[np.int32]:
        """Offsets: target id = draft id + d2t."""
        return (self.ids - np.arange(len(self.ids))).astype(np.int32)


def choose(data: DataSet, vocab: int, size: int) -> DraftVocab:
    """The `size` most frequent tokens of the replies; between equals, those of all text, then the lower id."""
    in_replies = np.bincount(data.ids[data.reply_mask()], minlength=vocab)
    anywhere = np.bincount(data.ids, minlength=vocab)
    order = np.lexsort((np.arange(vocab), -anywhere, -in_replies))
    return measured(np.sort(order[: min(size, vocab)]).astype(np.int64), data)


def measured(ids: NDArray[np.int64], data: DataSet) -> DraftVocab:
    """A given draft vocabulary with its coverage of the data."""
    replies = data.ids[data.reply_mask()]
    return DraftVocab(ids, float(np.isin(replies, ids).mean()) if len(replies) else 0.0)
