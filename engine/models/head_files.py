"""A draft head on its way into a model folder: a checkpoint to convert, or files converted before.

Knows which hidden streams the head reads, so that the target can be built to give them; the reading of a checkpoint
that leaves something open is chosen by `head_choice`.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from engine.errors import CheckpointError
from engine.models.dims import ModelDims
from engine.models.eagle_checkpoint import EagleCheckpoint
from engine.models.folder import HeadKind, head_files
from engine.models.head_graph import write_fc, write_head
from engine.models.linear import Precision

CARD = "card.json"


@dataclass(frozen=True, slots=True)
class ReadyHead:
    """A folder of converted files with a card, as under assets/heads/. `taps`: none for an MTP head."""

    folder: Path
    taps: tuple[int, ...]
    kind: HeadKind = "eagle"

    @classmethod
    def open(cls, folder: Path, dims: ModelDims, kind: HeadKind = "eagle") -> ReadyHead | None:
        """The head in `folder` if it was converted before, else None. Raises `CheckpointError`."""
        if not (folder / head_files(kind)[0]).is_file():
            return None
        if kind == "mtp":
            return cls(folder, (), kind)
        try:
            taps = json.loads((folder / CARD).read_text(encoding="utf-8"))["taps"]
            return cls(folder, dims.with_taps(taps).hidden_taps, kind)
        except Exception as error:
            raise CheckpointError(
                f"Draft head {folder.name}: its {CARD} is missing or broken, so give the original checkpoint."
            ) from error

    def write(self, out: Path) -> None:
        """Copy the files."""
        for name in written_files(self.kind):
            if (self.folder / name).is_file():
                shutil.copyfile(self.folder / name, out / name)


def written_files(kind: HeadKind) -> tuple[str, ...]:
    """Every file that `convert_head` may write; small graphs have no data file."""
    return tuple(end for name in head_files(kind) for end in (name, f"{name}.data"))


def convert_head(checkpoint: EagleCheckpoint, out: Path, dims: ModelDims, precision: Precision = "int8") -> None:
    """Write the head's two graphs and its d2t, named after its kind. Raises `CheckpointError`.

    An MTP head has a vocabulary projection of its own although it could use the target's: over the draft vocabulary
    it is several times smaller, and the weights that a draft pass reads are what it costs.
    """
    if "embed_tokens.weight" in checkpoint.tensors:
        raise CheckpointError(
            "The draft head has token embeddings of its own width, which this version of Eyrie cannot use: "
            "choose a head as wide as the target."
        )
    layer, fc, d2t = head_files(checkpoint.kind)
    write_fc(out / fc, checkpoint, precision)
    write_head(out / layer, checkpoint, precision, dims.context_length)
    np.save(out / d2t, checkpoint.d2t.astype(np.int32))
