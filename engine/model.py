"""A loaded model folder: target, draft head and tokenizer, ready to decode. Knows files; no conversation."""

from __future__ import annotations

import threading
from pathlib import Path

from engine import progress as steps
from engine.draft_head import DraftHead
from engine.errors import ModelFolderError
from engine.models.folder import has_draft, read_config
from engine.runtime import default_threads
from engine.target import TargetModel
from engine.tokenizer import Tokenizer


class Model:
    """One target, perhaps with a draft head, over one set of caches. Used by one thread; `stop` by any."""

    def __init__(self, folder: Path, threads: int) -> None:
        config = read_config(folder)
        if config.flavour != "cpu":
            raise ModelFolderError(f"{folder} is of flavour {config.flavour!r}: this version of Eyrie runs 'cpu'.")
        self.folder = folder
        self.name = config.model_name
        self.precision = config.precision
        self.dims = config.dims
        self.defaults = config.engine
        self.threads = threads
        self.tokenizer = Tokenizer.load(folder)
        self.target = TargetModel(folder, config.dims, threads)
        self.draft: DraftHead | None = None

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
        model = cls(Path(folder), threads or default_threads())
        steps.check(cancel)
        progress(steps.Progress("Loading the draft head", 1, 2))
        if has_draft(model.folder):
            model.draft = DraftHead(model.folder, model.dims, model.target.embed, model.threads)
        steps.check(cancel)
        progress(steps.Progress("Ready", 2, 2))
        return model

    @property
    def has_draft(self) -> bool:
        """Whether an EAGLE-3 head is there."""
        return self.draft is not None

    def reset(self) -> None:
        """Empty both caches."""
        self.target.cache.truncate(0)
        if self.draft is not None:
            self.draft.cache.truncate(0)

    def stop(self) -> None:
        """End passes in progress; they raise `Cancelled`."""
        self.target.stop()
        if self.draft is not None:
            self.draft.stop()

    def resume(self) -> None:
        """Allow passes again."""
        self.target.resume()
        if self.draft is not None:
            self.draft.resume()

    def close(self) -> None:
        """Free sessions and caches."""
        self.draft = None
        del self.target
