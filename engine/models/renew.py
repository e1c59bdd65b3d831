"""Gives a converted folder the draft heads and defaults that ship now; the model itself stays as it is.

Needs no model file and no network: a second of copying where a conversion takes half a minute. Knows no catalog.
"""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from engine import progress as steps
from engine.config import CHAT_KEYS, EngineConfig, SamplingConfig
from engine.errors import CheckpointError, ModelFolderError
from engine.models.folder import CONFIG, HEAD_KINDS, FolderConfig, HeadKind, read_config, write_config
from engine.models.head_files import ReadyHead, written_files
from engine.models.model_card import CARD_FILE, ModelCard, describe_files

_STEP = "Bringing the model up to date"
_REPLACED = {CONFIG, CARD_FILE, *(name for kind in HEAD_KINDS for name in written_files(kind))}


@dataclass(frozen=True, slots=True)
class Renewal:
    """A whole folder, and the heads it is to get."""

    folder: Path
    card: ModelCard
    config: FolderConfig
    heads: tuple[ReadyHead, ...]

    @classmethod
    def plan(cls, folder: Path, heads: Sequence[tuple[HeadKind, Path]]) -> Self | None:
        """None where the model must be converted again: it is not whole, or a head does not fit it as it is."""
        card = ModelCard.read(folder)
        if card is None or not card.is_whole(folder):
            return None
        try:
            config = read_config(folder)
            ready = [ReadyHead.open(path, config.dims, kind) for kind, path in heads]
        except (ModelFolderError, CheckpointError):
            return None
        fitting = tuple(h for h in ready if h is not None and h.taps in ((), config.dims.hidden_taps))
        return cls(folder, card, config, fitting) if len(fitting) == len(ready) else None

    def write(
        self,
        out: Path,
        engine: EngineConfig,
        sampling: SamplingConfig,
        *,
        progress: steps.ProgressCallback = steps.ignore,
        cancel: threading.Event | None = None,
    ) -> dict[str, dict[str, Any]]:
        """Write everything but the card into the empty folder `out`; what the card is to say of the files."""
        kept = {name: entry for name, entry in self.card.files.items() if name not in _REPLACED}
        for done, name in enumerate(kept):
            steps.check(cancel)
            progress(steps.Progress(_STEP, done, len(kept) + 1))
            _share(self.folder / name, out / name)
        for head in self.heads:
            head.write(out)
        write_config(out, replace(self.config, engine=engine, sampling=sampling))
        new = describe_files(out, steps.ignore, cancel, known=kept)
        progress(steps.Progress(_STEP, len(kept) + 1, len(kept) + 1))
        return new


def has_defaults(folder: Path, engine: EngineConfig, sampling: SamplingConfig) -> bool:
    """Whether a folder decodes and draws with these by default."""
    try:
        config = read_config(folder)
    except ModelFolderError:
        return False
    same = all(getattr(config.sampling, key) == getattr(sampling, key) for key in CHAT_KEYS)
    return same and config.engine == engine


def _share(source: Path, target: Path) -> None:
    """The same file under another name where the file system can do it, else a copy. Neither is ever written to."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
