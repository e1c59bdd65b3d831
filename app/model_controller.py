"""Which model is there, is fetched, is loaded: the state behind welcome page, toolbar, status line and composer."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, Literal

from PySide6.QtCore import QObject, Signal

from app.engine_api import ModelInfo
from app.engine_link import EngineLink
from app.engine_settings import EngineSettings
from app.reports import EngineReady
from app.store import Store, StoreError
from app.throttle import Throttle
from app.writer import Writer
from engine import Progress

State = Literal["starting", "missing", "getting", "loading", "ready", "failed"]
LAST_MODEL = "model.last"
NONE_LOADED = "No model is loaded: choose one in the menu Model."
SAVE_MS = 500  # between two savings of the settings while a slider moves


class ModelController(QObject):
    """Loads the model of last time by itself when it is there, the default one when none was used before.

    Signals:
        changed(): `state`, `info`, `models` or `sentence` is another.
        progressed(Progress): getting or loading moves on.
        failed(str, str): sentence and traceback or "".
        calibrated(object, str): milliseconds of a plain pass, or None and why not.

    Attributes:
        state: what is going on.
        info: the loaded model, or None.
        models: folders that can be loaded.
        catalog: what can be fetched.
        sentence: why the last attempt failed.
    """

    changed = Signal()
    progressed = Signal(object)
    failed = Signal(str, str)
    calibrated = Signal(object, str)

    def __init__(
        self,
        link: EngineLink,
        store: Store,
        writer: Writer,
        settings: EngineSettings,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._link, self._store, self._writer, self._settings = link, store, writer, settings
        self.state: State = "starting"
        self.info: ModelInfo | None = None
        self.models: list[Path] = []
        self.catalog: tuple[Any, ...] = ()
        self.sentence = ""
        self._job = 0
        self._started = False  # the engine is imported
        self._again: Path | str | None = None  # what a retry does; None: the default model
        self._save_soon = Throttle(self._save_config, SAVE_MS, self)
        link.engine_ready.connect(self._engine_ready)
        link.model_ready.connect(self._model_ready)
        link.progressed.connect(self._progressed)
        link.failed.connect(self._failed)
        link.calibrated.connect(self.calibrated)
        settings.config_changed.connect(self._config_changed)

    @property
    def busy(self) -> bool:
        """Whether a model is being fetched or loaded."""
        return self.state in ("getting", "loading")

    def blocked(self) -> str:
        """Why nothing can be sent now; "" when it can."""
        return {
            "starting": "The engine is starting…",
            "missing": NONE_LOADED if self.models else "There is no model yet: see Model › Get the model.",
            "getting": "The model is being prepared. You can write meanwhile.",
            "loading": "The model is loading. You can write meanwhile.",
            "failed": NONE_LOADED,
            "ready": "",
        }[self.state if self.info is None else "loading" if self.busy else "ready"]

    def start(self) -> None:
        """Start the engine; the model of last time follows by itself."""
        self._started = False
        self._job = self._link.start()
        self._set("starting")

    def get(self, name: str | None = None) -> None:
        """Fetch, convert and load a model of the catalog, or convert a GGUF file; the default model when None."""
        self._again = name
        self._job = self._link.get_model(name)
        self._set("getting")

    def load(self, folder: Path) -> None:
        """Load a model folder."""
        self._again = folder
        self._job = self._link.load(folder)
        self._set("loading")

    def retry(self) -> None:
        """Try again what failed."""
        if not self._started:
            self.start()
        elif isinstance(self._again, Path):
            self.load(self._again)
        else:
            self.get(self._again)

    def cancel(self) -> None:
        """Stop fetching or loading."""
        if self.busy:
            self._link.stop(self._job)

    def flush(self) -> None:
        """Save what waits to be saved; before closing."""
        self._save_soon.flush()

    def _set(self, state: State, sentence: str = "") -> None:
        self.state, self.sentence = state, sentence
        self.changed.emit()

    def _engine_ready(self, report: EngineReady) -> None:
        self._started = True
        self.models, self.catalog = list(report.models), report.catalog
        if self.busy:
            self.changed.emit()
            return
        last = self._setting(LAST_MODEL)
        found = next((m for m in self.models if str(m) == last), None)
        if found is None and isinstance(last, str) and Path(last).is_dir():
            found = Path(last)
        if found is None and self.models:
            found = self.models[0]
        if found is None:
            self._set("missing")
        else:
            self.load(found)

    def _progressed(self, job: int, progress: Progress) -> None:
        if job == self._job and self.busy:
            self.progressed.emit(progress)

    def _model_ready(self, info: ModelInfo) -> None:
        self.info = info
        asked, self._again = self._again, info.folder
        if isinstance(asked, Path) and asked != info.folder and not asked.is_dir():
            self.models = [m for m in self.models if m != asked]  # a newer folder took its place
        if info.folder not in self.models:
            self.models.append(info.folder)
        self._keep(LAST_MODEL, str(info.folder))
        kept = self._setting(f"config/{info.name}")
        self._settings.set_defaults(info.defaults, kept if isinstance(kept, dict) else None, info.sampling)
        self._set("ready")
        self._link.calibrate()

    def _failed(self, job: int, sentence: str, detail: str, cancelled: bool) -> None:
        if job != self._job or not (self.busy or self.state == "starting"):
            return
        if self.info is not None:
            self._set("ready")
        else:
            self._set("missing" if cancelled else "failed", "" if cancelled else sentence)
        if not cancelled:
            self.failed.emit(sentence, detail)

    def _config_changed(self, _: object) -> None:
        if self.info is not None and not self.busy:
            self._save_soon()

    def _save_config(self) -> None:
        if self.info is not None:
            self._keep(f"config/{self.info.name}", self._settings.changes())

    def _setting(self, key: str) -> Any:
        try:
            return self._store.settings.get(key)
        except StoreError:
            return None

    def _keep(self, key: str, value: Any) -> None:
        self._writer.post(partial(self._store.settings.set, key, value), "saving a setting")
