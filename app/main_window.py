"""The window: puts the parts together, links them, and owns the one way to close."""

from __future__ import annotations

import contextlib
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QCloseEvent, QDragEnterEvent, QDropEvent, QKeySequence, QShortcut
from PySide6.QtWidgets import QMainWindow, QMenu

from app.actions import Actions
from app.engine_link import EngineLink
from app.engine_settings import EngineSettings
from app.file_commands import FileCommands
from app.layout_state import (
    geometry,
    restore_geometry,
    restore_splitter,
    save_layout,
    saved_layout,
    splitter_state,
)
from app.model_controller import ModelController
from app.panels import Panels
from app.player import Player
from app.presenter import Presenter
from app.reports import EngineReady
from app.sampling_sync import SamplingSync
from app.selection import Selection
from app.shortcut_sheet import ShortcutSheet
from app.store import Store, StoreError
from app.tasks import Tasks
from app.theme import theme
from app.toolbar import MainToolBar
from app.trace_shelf import TraceShelf, shipped_traces
from app.turn_controller import TurnController
from app.view_menu import ViewMenu
from app.welcome import trace_title
from engine import Turn

SIZE = QSize(1280, 800)
CLOSE_MS = 3000  # for the engine's thread to end


class MainWindow(QMainWindow):
    """Everything on one screen. `show()` it, then `start()` the engine.

    Attributes:
        panels: the parts.
        selection: which turn, round and node is looked at.
        link: the engine.
        clean: whether the engine's thread has ended in time after closing.
    """

    def __init__(self, store: Store, link: EngineLink, traces: list[Path] | None = None) -> None:
        super().__init__()
        self.setWindowTitle("Eyrie")
        self.setAcceptDrops(True)
        self.store, self.link = store, link
        self.clean = True
        self.selection = Selection(self)
        self.settings = EngineSettings(self)
        self.panels = Panels(store, self.selection, self.settings, self)
        self.setCentralWidget(self.panels)
        self.actions_ = Actions(self, self.menuBar())
        self.tasks = Tasks(link, self)
        self.models = ModelController(link, store, self.settings, self)
        self.turns = TurnController(link, store, self.panels.pane, self.selection, self.settings, self)
        self.shelf = TraceShelf(self.tasks, store, self)
        self.presenter = Presenter(store, self.panels.pane, self.selection, self.shelf, self.turns, self)
        self.player = Player(self.selection, self.panels.tree.stepper, self)
        self.files = FileCommands(self, store, self.selection, self.panels, self.models, self.tasks)
        self.sampling = SamplingSync(self.panels.pane.settings, self.settings, self)
        self.model_menu = QMenu("Model", self)
        self.toolbar = MainToolBar(self.actions_, self.settings, self.model_menu, self)
        self.addToolBar(Qt.ToolBarArea.TopToolBarArea, self.toolbar)
        self.view_menu = ViewMenu(self)
        self._traces = shipped_traces() if traces is None else traces
        self._plain: tuple[float | None, str] = (None, "not measured yet")
        self._connect()
        self._restore()
        self._first_page()

    def start(self) -> None:
        """Start the engine; the window is on the screen already."""
        self.models.start()

    # Messages

    def say(self, text: str) -> None:
        """Good news."""
        self.panels.messages.show_message(text)

    def complain(self, text: str, detail: str = "") -> None:
        """Bad news, with the traceback for those who want it."""
        self.panels.messages.show_message(text, "error", detail=detail)

    # Linking

    def _connect(self) -> None:
        self._connect_engine()
        self._connect_chat()
        self._connect_views()
        self._connect_files()
        self._connect_commands()

    def _connect_engine(self) -> None:
        p, models = self.panels, self.models
        self.settings.config_changed.connect(self.link.set_config)
        self.link.engine_ready.connect(self._engine_ready)
        self.link.warned.connect(self._warn)
        self.link.counted.connect(self._counted)
        models.changed.connect(self._model_changed)
        models.progressed.connect(p.status.set_progress)
        models.progressed.connect(p.welcome.show_progress)
        models.failed.connect(self._model_failed)
        models.calibrated.connect(self._calibrated)
        p.status.cancel_requested.connect(models.cancel)
        p.welcome.cancel.connect(models.cancel)
        p.welcome.get_model.connect(models.retry)
        p.welcome.open_folder.connect(self.files.ask_folder)
        p.welcome.open_gguf.connect(self.files.ask_gguf)
        p.welcome.trace_chosen.connect(self.files.open_trace)
        self.tasks.failed.connect(self.complain)

    def _connect_chat(self) -> None:
        p = self.panels
        p.chats.chosen.connect(self.open_chat)
        p.chats.hit_chosen.connect(self.open_chat)
        p.chats.deleted.connect(self._chat_deleted)
        p.chats.problem.connect(self.complain)
        p.pane.problem.connect(self.complain)
        p.pane.chats_changed.connect(self._chats_changed)
        p.pane.count_requested.connect(self._count)
        p.pane.provenance_changed.connect(self._show_provenance)
        self.turns.started.connect(self._turn_started)
        self.turns.grown.connect(self._turn_grown)
        self.turns.ended.connect(self._turn_ended)
        self.turns.waiting.connect(p.tree.show_phase)
        self.turns.failed.connect(self._turn_failed)
        self.turns.warned.connect(lambda text: p.messages.show_message(text, "warning", key="warning"))

    def _connect_views(self) -> None:
        p, s = self.panels, self.selection
        s.turn_changed.connect(self._shown_turn_changed)
        s.round_changed.connect(self._shown_round_changed)
        s.live_changed.connect(self._show_live)
        p.sliders.refused.connect(lambda text: p.messages.show_message(text, "warning", key="refused"))
        p.tree.message.connect(self.say)
        p.tree.engine_step_requested.connect(self.link.step)
        p.tree.export_trace_requested.connect(self.files.save_trace)
        p.tree.export_rounds_requested.connect(self.files.save_rounds)
        p.plots.export_wanted.connect(self.files.save_plot)
        p.recording.play_wanted.connect(self._toggle_play)
        p.recording.closed.connect(self._close_recording)
        p.recording.view.turn_wanted.connect(self._show_recording_again)
        self.player.changed.connect(self._show_player)
        self.toolbar.pace_chosen.connect(self.player.set_pace)
        self.toolbar.set_pace(self.player.pace)

    def _connect_files(self) -> None:
        f = self.files
        f.trace_opened.connect(self.show_recording)
        f.chat_imported.connect(self._imported)
        f.said.connect(self.say)
        f.problem.connect(self.complain)
        self.panels.chats.export_wanted.connect(f.export_chat)
        self.panels.chats.import_wanted.connect(f.ask_import)

    def _connect_commands(self) -> None:
        a, p, f = self.actions_, self.panels, self.files
        for name, call in {
            "new_chat": self._new_chat,
            "open_trace": f.ask_trace,
            "import_chat": f.ask_import,
            "export_md": lambda: f.export_chat(p.pane.chat, "md"),
            "export_json": lambda: f.export_chat(p.pane.chat, "json"),
            "tree_png": lambda: f.save_tree("png"),
            "tree_svg": lambda: f.save_tree("svg"),
            "save_trace": f.save_trace,
            "save_rounds": f.save_rounds,
            "quit": self.close,
            "find": p.pane.view.open_find,
            "search_chats": self._search_chats,
            "regenerate": p.pane.view.regenerate_last,
            "edit_prompt": p.pane.view.edit_last_prompt,
            "stop": self._stop,
            "get_model": self._get_model,
            "open_folder": f.ask_folder,
            "open_gguf": f.ask_gguf,
            "cancel_model": self.models.cancel,
            "live": self._go_live,
            "hold": self._hold,
            "play": self._toggle_play,
            "step": p.tree.next_step,
            "step_back": p.tree.previous_step,
            "previous": lambda: self.selection.step(-1),
            "next": lambda: self.selection.step(1),
            "step_engine": self._step_engine,
            "engine_round": lambda: self.link.step(to_round_end=True),
            "welcome": lambda: p.show_page(p.welcome),
            "shortcuts": self.show_shortcuts,
        }.items():
            a.on(name, call)
        QShortcut(QKeySequence("?"), self).activated.connect(self.show_shortcuts)
        self._fill_recordings()
        self._fill_models()
        self._show_live(self.selection.live)

    # Pages

    def _first_page(self) -> None:
        p = self.panels
        p.welcome.set_traces(self._traces)
        chats = self.store.chats.list()
        if chats:
            p.chats.select(chats[0].id)
            self.open_chat(chats[0].id)
        else:
            p.show_page(p.welcome)
        if self.store.notice:
            p.messages.show_message(self.store.notice, "warning")
        p.status.set_state("Starting the engine…")
        self.panels.pane.set_blocked(self.models.blocked())

    def open_chat(self, chat: int, message: int = 0, words: str = "") -> None:
        """Show a chat in the middle and its newest rounds on the right."""
        p = self.panels
        self.player.stop()
        p.pane.open_chat(chat, message, words)
        self.sampling.pull()
        p.show_page(p.pane)
        self.presenter.show_chat(chat)
        if self.isActiveWindow() and not p.chats.isAncestorOf(self.focusWidget()):
            p.pane.composer.input.setFocus()

    def show_recording(self, turn: Turn, name: str) -> None:
        """Show a recorded run in the middle and from its first round on the right."""
        p = self.panels
        p.recording.show_turn(turn, name)
        p.show_page(p.recording)
        self.presenter.show_recording(turn)

    def _close_recording(self) -> None:
        if self.panels.pane.chat:
            self.open_chat(self.panels.pane.chat)
        elif self.models.info is not None:
            self._new_chat()
        else:
            self.panels.show_page(self.panels.welcome)

    def _show_recording_again(self, _message: int) -> None:
        if self.panels.recording.turn is not None:
            self.presenter.show_recording(self.panels.recording.turn)

    def _new_chat(self) -> None:
        self.panels.chats.new_chat()
        self.panels.pane.composer.input.setFocus()

    def _chat_deleted(self, chat: int) -> None:
        if self.turns.request is not None and self.turns.request.chat == chat:
            self.turns.stop()
        if chat == self.panels.pane.chat:
            self.panels.pane.close_chat()
            self.selection.show_turn(None)

    def _chats_changed(self) -> None:
        self.panels.chats.refresh()
        self.panels.chats.select(self.panels.pane.chat)

    def _imported(self, chat: int) -> None:
        self.panels.chats.refresh()
        self.panels.chats.select(chat)
        self.open_chat(chat)

    def _search_chats(self) -> None:
        self.panels.set_shown("show_chats", True)
        self.panels.chats.focus_search()

    # Engine

    def _engine_ready(self, report: EngineReady) -> None:
        self.toolbar.set_strategies(report.strategies)

    def _model_changed(self) -> None:
        p, m = self.panels, self.models
        p.pane.set_blocked(m.blocked())
        name = m.info.name if m.info else "No model"
        tip = f"{m.info.folder}\n{m.info.precision}, context {m.info.context_length} tokens" if m.info else ""
        self.toolbar.set_model(name, tip or "The model that answers")
        self.actions_["cancel_model"].setEnabled(m.busy)
        if m.catalog:
            first = m.catalog[0]
            p.welcome.set_model(first.name, first.wheel_size, first.licence)
        if m.state == "missing":
            p.status.set_state("No model yet.")
            p.welcome.show_missing()
        elif m.state == "failed":
            p.status.set_state("No model is loaded.")
            p.welcome.show_error(m.sentence)
        elif m.state == "ready" and m.info is not None:
            self._model_ready(m.info.name, m.info.has_draft)
        self._fill_models()

    def _model_ready(self, name: str, has_draft: bool) -> None:
        p = self.panels
        self.presenter.mine.clear()
        p.messages.dismiss("model")
        p.status.set_state(
            f"{name} is ready." if has_draft else f"{name} is ready, without a draft head: plain decoding."
        )
        p.welcome.show_ready(name)
        if p.page is p.welcome:
            self._new_chat()
        p.pane.request_count()

    def _model_failed(self, sentence: str, detail: str) -> None:
        if self.panels.page is self.panels.welcome and not detail:
            return  # the page says it itself
        retry = ("Try again", self.models.retry)
        self.panels.messages.show_message(sentence, "error", actions=[retry], detail=detail, key="model")

    def _calibrated(self, ms: float | None, reason: str) -> None:
        self._plain = (ms, reason)
        self.panels.status.set_plain(ms, reason)
        self._show_plain()

    def _show_plain(self) -> None:
        """The line of plain decoding belongs only to turns that ran here, with this model."""
        recorded = self.selection.turn is not None and not self.presenter.comparable
        elsewhere = (None, "this run was not made here and now")
        self.panels.plots.set_plain(*(elsewhere if recorded else self._plain))

    def _count(self, messages: list[dict[str, str]]) -> None:
        if self.models.info is not None:
            self.link.count(messages, self.panels.pane.chat)

    def _counted(self, chat: int, tokens: int) -> None:
        if self.models.info is not None and chat == self.panels.pane.chat:
            self.panels.pane.set_context_count(tokens, self.models.info.context_length)

    def _turn_started(self, _turn: Turn) -> None:
        request = self.turns.request
        self.panels.chats.set_running(request.chat if request else 0)
        self.panels.status.set_state("")
        if request is not None and self.models.info is not None:
            name = self.models.info.name
            self.tasks.run(partial(self.store.chats.set_model, request.chat, name), "saving the chat")

    def _turn_grown(self) -> None:
        p, turn, request = self.panels, self.turns.turn, self.turns.request
        p.status.refresh()
        if turn is not None and turn.start is not None and request is not None and request.chat == p.pane.chat:
            p.pane.set_context_count(turn.start.prompt_tokens + self.turns.emitted, turn.start.context_length)

    def _turn_ended(self, _turn: Turn) -> None:
        self.panels.plots.flush()
        self.panels.chats.set_running(0)
        self.panels.status.refresh()

    def _turn_failed(self, sentence: str, detail: str) -> None:
        retry = ("Try again", self.panels.pane.view.regenerate_last)
        self.panels.messages.show_message(sentence, "error", actions=[retry], detail=detail, key="turn")

    def _warn(self, sentence: str, detail: str) -> None:
        self.panels.messages.show_message(sentence, "warning", detail=detail, key="warned")

    def _get_model(self) -> None:
        self.models.get()

    def _stop(self) -> None:
        self.turns.stop()
        self.models.cancel()

    def _step_engine(self, on: bool) -> None:
        self.link.set_stepping(on)
        if on:
            self.selection.follow()
            self.say("The engine now waits before each phase: Space or Step lets it go on. Stop works as always.")
        else:
            self.panels.tree.show_phase(None)

    # Views

    def _shown_turn_changed(self, turn: Turn | None) -> None:
        self.panels.status.show_turn(turn, self.presenter.comparable)
        self._show_plain()
        self._shown_round_changed()

    def _shown_round_changed(self, _index: int = -1) -> None:
        self.panels.sliders.show_round(self.selection.current())

    def _go_live(self) -> None:
        self.player.stop()
        self.selection.pin(-1)
        self.selection.follow()
        self._show_live(self.selection.live)

    def _hold(self) -> None:
        self.player.stop()
        self.selection.go(self.selection.round_index)
        self._show_live(self.selection.live)

    def _show_live(self, live: bool) -> None:
        self.actions_.set_checked("live", live)
        self.actions_.set_checked("hold", not live and not self.player.playing)

    def _show_provenance(self, on: bool) -> None:
        self.actions_.set_checked("provenance", on)

    def _toggle_play(self) -> None:
        if self.player.playing:
            self.player.stop()
        else:
            self.player.play()
        self._show_player()

    def _show_player(self) -> None:
        playing = self.player.playing
        self.actions_.set_checked("play", playing)
        self.panels.recording.set_playing(playing)
        self.toolbar.set_banner(self.player.banner())
        self.toolbar.set_pace(self.player.pace)
        self._show_live(self.selection.live)

    def show_shortcuts(self) -> None:
        """The sheet of all keys."""
        ShortcutSheet(self).show()

    # Menus that change

    def _fill_recordings(self) -> None:
        menu = self.actions_.submenus["recordings"]
        for path in self._traces:
            menu.addAction(trace_title(path), partial(self.files.open_trace, path, trace_title(path)))
        menu.setEnabled(bool(self._traces))

    def _fill_models(self) -> None:
        installed = self.actions_.submenus["installed"]
        installed.clear()
        self.model_menu.clear()
        for folder in self.models.models:
            action = self.model_menu.addAction(folder.name, partial(self.models.load, folder))
            action.setCheckable(True)
            action.setChecked(self.models.info is not None and self.models.info.folder == folder)
            installed.addAction(action)
        installed.setEnabled(bool(self.models.models))
        self.model_menu.addSeparator()
        for name in ("get_model", "open_folder", "open_gguf", "cancel_model"):
            self.model_menu.addAction(self.actions_[name])

    # Drag and drop

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Files are welcome."""
        if any(url.isLocalFile() for url in event.mimeData().urls()):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        """A recording, a conversation, a model."""
        for url in event.mimeData().urls():
            if url.isLocalFile():
                self.files.drop(Path(url.toLocalFile()))
        event.acceptProposedAction()

    # Coming and going

    def _restore(self) -> None:
        layout = saved_layout(self.store)
        if not restore_geometry(self, layout.get("geometry")):
            available = self.screen().availableSize()
            self.resize(SIZE.boundedTo(available) if available.width() < 1900 else QSize(1680, 980))
        self.panels.default_sizes(self.width(), self.height())
        self.view_menu.restore(layout)
        for name, splitter in self.panels.splitters.items():
            restore_splitter(splitter, layout.get(f"splitter.{name}"))

    def _save(self) -> None:
        layout: dict[str, Any] = {"geometry": geometry(self), **self.view_menu.state()}
        for name, splitter in self.panels.splitters.items():
            layout[f"splitter.{name}"] = splitter_state(splitter)
        save_layout(self.store, layout)

    def closeEvent(self, event: QCloseEvent) -> None:
        """Save, stop the engine, end its thread; the one way out."""
        self.player.stop()
        self.panels.pane.settings.flush()
        self.models.flush()
        with contextlib.suppress(StoreError):  # the layout of next time is not worth keeping the window open
            self._save()
        self.hide()
        self.clean = self.link.shut_down(CLOSE_MS)
        self.store.close()
        theme().changed.disconnect(self.view_menu.theme_changed)
        super().closeEvent(event)
