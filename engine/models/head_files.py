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
from engine.models.head_graph import write_fc, write_head
from engine.models.linear import Precision

CARD = "card.json"
EAGLE_FILES = ("eagle.onnx", "eagle.onnx.data", "eagle_fc.onnx", "eagle_fc.onnx.data", "eagle_d2t.npy")


@dataclass(frozen=True, slots=True)
class ReadyHead:
    """A folder of converted files with a card, as under assets/heads/."""

    folder: Path
    taps: tuple[int, int, int]

    @classmethod
    def open(cls, folder: Path, dims: ModelDims) -> ReadyHead | None:
        """The head in `folder` if it was converted before, else None. Raises `CheckpointError`."""
        if not (folder / "eagle.onnx").is_file():
            return None
        try:
            taps = json.loads((folder / CARD).read_text(encoding="utf-8"))["taps"]
            return cls(folder, dims.with_taps(taps).hidden_taps)
        except Exception as error:
            raise CheckpointError(
                f"Draft head {folder.name}: its {CARD} is missing or broken, so give the original checkpoint."
            ) from error

    def write(self, out: Path) -> None:
        """Copy the files."""
        for name in EAGLE_FILES:
            if (self.folder / name).is_file():
                shutil.copyfile(self.folder / name, out / name)


def convert_head(checkpoint: EagleCheckpoint, out: Path, dims: ModelDims, precision: Precision = "int8") -> None:
    """Write eagle.onnx, eagle_fc.onnx and eagle_d2t.npy. Raises `CheckpointError`."""
    if "embed_tokens.weight" in checkpoint.tensors:
        raise CheckpointError(
            "The draft head has token embeddings of its own width, which this version of Eyrie cannot use: "
            "choose a head as wide as the target."
        )
    write_fc(out / "eagle_fc.onnx", checkpoint, precision)
    write_head(out / "eagle.onnx", checkpoint, precision, dims.context_length)
    np.save(out / "eagle_d2t.npy", checkpoint.d2t.astype(np.int32))
