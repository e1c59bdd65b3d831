"""Which head a run begins with, by what was asked: the target's own pieces, or a head that exists, changed in size.

`head_init.py` makes it. numpy.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.errors import ConfigError
from engine.models.eagle_checkpoint import EagleCheckpoint
from engine.training import draft_vocab, head_init
from engine.training.conversations import DataSet
from engine.training.draft_vocab import DraftVocab
from engine.training.folder_weights import FolderWeights
from engine.training.request import TrainingRequest


class StartingHead(NamedTuple):
    """A head before its first update."""

    head: EagleCheckpoint
    name: str  # what it was made from: a run is continued only from the same
    vocabulary: DraftVocab
    rows: NDArray[np.int64]  # [Vd] where the head that is continued had each draft token; -1: it did not know it


def starting_head(request: TrainingRequest, weights: FolderWeights, data: DataSet) -> StartingHead:
    """The head for a request. Raises `ConfigError`, and `CheckpointError` where `request.init` cannot be trained."""
    size = request.draft_vocab or draft_vocab.DEFAULT_SIZE
    streams = 1 if request.kind == "mtp" else 3
    ids = draft_vocab.choose(data, weights.dims.vocab_size, size)
    place = np.full(weights.dims.vocab_size, -1, np.int64)
    if request.init is not None:
        head = head_init.from_head(request.init, weights.dims)
        place[np.arange(len(head.d2t)) + head.d2t] = np.arange(len(head.d2t))
        name = f"{request.init.resolve()}"
        if request.draft_vocab is not None:
            head = head_init.with_vocabulary(head, ids.d2t, weights)
            name += f", {size} tokens"
        ids = draft_vocab.measured(np.arange(len(head.d2t)) + head.d2t, data)
    else:
        head = head_init.from_target(weights, ids.d2t, streams=streams, positions=request.max_length)
        name = f"the target, {len(ids.ids)} tokens"
    if len(head.config.taps) != streams:
        raise ConfigError(f"The head in {request.init} is of another kind than {request.kind}: change --type.")
    if request.mlp_width is not None:
        head = head_init.widened(head, request.mlp_width)
        name += f", MLP {request.mlp_width}"
    return StartingHead(head, name, ids, place[ids.ids])
