"""Shows which model is there and what is being done to get one: welcome page, toolbar, status line, menu, composer."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QMenu

from app.reports import EngineReady

if TYPE_CHECKING:
    from app.main_window import MainWindow


class ModelDisplay(QObject):
    """Follows the `ModelController`.

    Attributes:
        menu: the models to choose from.
    """

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window, self._models = window, window.models
        self._panels, self._actions = window.panels, window.actions_
        self.menu = QMenu("Model", window)
        p, models = self._panels, self._models
        window.link.engine_ready.connect(self._engine_ready)
        models.changed.connect(self.refresh)
        models.progressed.connect(p.status.set_progress)
        models.progressed.connect(p.welcome.show_progress)
        models.failed.connect(self._failed)
        p.status.cancel_requested.connect(models.cancel)
        p.welcome.cancel.connect(models.cancel)
        p.welcome.get_model.connect(models.retry)
        p.welcome.open_folder.connect(window.files.ask_folder)
        p.welcome.open_gguf.connect(window.files.ask_gguf)
        p.status.set_state("Starting the engine…")
        p.pane.composer.set_blocked(models.blocked())
        self._fill_menu()

    def refresh(self) -> None:
        """Show what the controller says now."""
        p, m = self._panels, self._models
        p.pane.composer.set_blocked(m.blocked())
        name = m.info.name if m.info else "No model"
        tip = f"{m.info.folder}\n{m.info.precision}, context {m.info.context_length} tokens" if m.info else ""
        self._window.toolbar.set_model(name, tip or "The model that answers")
        self._actions["cancel_model"].setEnabled(m.busy)
        if m.models:
            p.welcome.set_model(m.models[0].name)
        elif m.catalog:
            first = m.catalog[0]
            p.welcome.set_model(first.name, first.wheel_size, first.licence, first.origin)
        if m.state == "missing":
            p.status.set_state("No model is loaded." if m.models else "No model yet.")
            p.welcome.show_missing(installed=bool(m.models))
        elif m.state == "failed":
            p.status.set_state("No model is loaded.")
            p.welcome.show_error(m.sentence)
        elif m.state == "ready" and m.info is not None:
            self._ready(m.info.name, m.info.has_draft)
        self._fill_menu()

    def _engine_ready(self, report: EngineReady) -> None:
        self._window.toolbar.set_strategies(report.strategies)

    def _ready(self, name: str, has_draft: bool) -> None:
        p = self._panels
        self._window.presenter.mine.clear()
        p.messages.dismiss("model")
        p.status.set_state(
            f"{name} is ready." if has_draft else f"{name} is ready, without a draft head: plain decoding."
        )
        p.welcome.show_ready(name)
        if p.page is p.welcome:
            self._window.pages.new_chat()
        p.pane.request_count()

    def _failed(self, sentence: str, detail: str) -> None:
        if self._panels.page is self._panels.welcome and not detail:
            return  # the page says it itself
        retry = ("Try again", self._models.retry)
        self._panels.messages.show_message(sentence, "error", actions=[retry], detail=detail, key="model")

    def _fill_menu(self) -> None:
        installed = self._actions.submenus["installed"]
        installed.clear()
        self.menu.clear()
        for folder in self._models.models:
            action = self.menu.addAction(folder.name, partial(self._models.load, folder))
            action.setCheckable(True)
            action.setChecked(self._models.info is not None and self._models.info.folder == folder)
            installed.addAction(action)
        installed.setEnabled(bool(self._models.models))
        self.menu.addSeparator()
        for name in ("get_model", "open_folder", "open_gguf", "cancel_model"):
            self.menu.addAction(self._actions[name])
