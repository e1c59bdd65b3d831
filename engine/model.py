"""A loaded model folder: target, draft head and tokenizer, ready to decode. Knows files; no conversation."""

from __future__ import annotations

import threading
from pathlib import Path

from engine import progress as steps
from engine.draft_head import DraftHead
from engine.errors import ModelFolderError
from engine.models.folder import HEAD_KINDS, HeadKind, has_head, read_config
from engine.runtime import default_threads
from engine.target import TargetModel
from engine.tokenizer import Tokenizer


class Model:
    """One target, perhaps with draft heads, over one set of caches. Used by one thread; `stop` by any."""

    def __init__(self, folder: Path, threads: int, cancel: threading.Event | None = None) -> None:
        config = read_config(folder)
        if config.flavour != "cpu":
            raise ModelFolderError(f"{folder} is of flavour {config.flavour!r}: this version of Eyrie runs 'cpu'.")
        self.folder = folder
        self.name = config.model_name
        self.precision = config.precision
        self.dims = config.dims
        self.defaults = config.engine
        self.sampling = config.sampling
        self.threads = threads
        self.tokenizer = Tokenizer.load(folder, cancel)
        self.target = TargetModel(folder, config.dims, threads, cancel)
        self.heads: dict[HeadKind, DraftHead] = {}
        self._owner: object = None  # whose rows the caches hold

    @classmethod
    def load(
        cls,
        folder: Path,
        *,
        progress: steps.ProgressCallback = steps.ignore,
        cancel: threading.Event | None = None,
        threads: int | None = None,
    ) -> Model:
        """Load a model folder. Raises `ModelFolderError`, `RuntimeUnavailable`, `Cancelled`."""
        progress(steps.Progress("Loading the model", 0, 2))
        model = cls(Path(folder), threads or default_threads(), cancel)
        steps.check(cancel)
        progress(steps.Progress("Loading the draft head", 1, 2))
        for kind in HEAD_KINDS:
            if has_head(model.folder, kind):
                head = DraftHead(model.folder, model.dims, model.target.embed, model.threads, kind, cancel)
                model.heads[kind] = head
            steps.check(cancel)
        model.target.with_last = "mtp" in model.heads and model.target.can_give_last
        progress(steps.Progress("Ready", 2, 2))
        return model

    @property
    def draft(self) -> DraftHead | None:
        """The EAGLE-3 head."""
        return self.heads.get("eagle")

    @property
    def has_draft(self) -> bool:
        """Whether an EAGLE-3 head is there."""
        return self.draft is not None

    def _parts(self) -> list[TargetModel | DraftHead]:
        return [self.target, *self.heads.values()]

    def claim(self, owner: object) -> bool:
        """Give the caches to `owner`, emptied unless they are its own already; whether they were."""
        if self._owner is owner:
            return True
        self.reset()
        self._owner = owner
        return False

    def reset(self) -> None:
        """Empty all caches; they belong to nobody then."""
        self._owner = None
        for part in self._parts():
            part.cache.truncate(0)

    def stop(self) -> None:
        """End passes in progress; they raise `Cancelled`."""
        for part in self._parts():
            part.stop()

    def resume(self) -> None:
        """Allow passes again."""
        for part in self._parts():
            part.resume()

    def close(self) -> None:
        """Free sessions and caches."""
        self._owner = None
        self.heads = {}
        del self.target
