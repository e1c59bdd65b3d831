"""The window: puts the parts together, and owns the one way to close."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QCloseEvent, QContextMenuEvent, QDragEnterEvent, QDropEvent, QKeySequence, QShortcut
from PySide6.QtWidgets import QApplication, QMainWindow, QWidget

from app.actions import Actions
from app.commands import connect_commands, fill_recordings
from app.engine_link import EngineLink
from app.engine_settings import EngineSettings
from app.file_commands import FileCommands
from app.focus_ring import FocusRing
from app.layout_state import (
    geometry,
    restore_geometry,
    restore_splitter,
    save_layout,
    saved_layout,
    splitter_state,
)
from app.live_control import LiveControl
from app.model_controller import ModelController
from app.model_display import ModelDisplay
from app.pages import Pages
from app.panels import Panels
from app.picture_turns import PictureTurns
from app.player import Player
from app.presenter import Presenter
from app.record_limit import RecordLimit
from app.running_settings import RunningSettings
from app.sampling_sync import SamplingSync
from app.selection import Selection
from app.shortcut_sheet import ShortcutSheet
from app.store import Store
from app.tasks import Tasks
from app.toolbar import MainToolBar
from app.trace_shelf import TraceShelf, shipped_traces
from app.turn_controller import TurnController
from app.turn_display import TurnDisplay
from app.view_menu import ViewMenu
from app.writer import Writer

SIZE = QSize(1280, 800)
CLOSE_MS = 3000  # for the engine's thread to end
WRITE_SECONDS = 8.0  # at most for what is not written yet, while another program holds the file; nobody sees it


class MainWindow(QMainWindow):
    """Everything on one screen. `show()` it, then `start()` the engine.

    Attributes:
        panels: the parts.
        selection: which turn, round and node is looked at.
        link: the engine.
        writer: what is to be written to the store.
        pages: what stands in the middle.
        clean: whether the other threads have ended in time after closing.
    """

    def __init__(self, store: Store, link: EngineLink, traces: list[Path] | None = None) -> None:
        super().__init__()
        self.setWindowTitle("Eyrie")
        self.setAcceptDrops(True)
        self.store, self.link = store, link
        self.clean = True
        self.selection = Selection(self)
        self.settings = EngineSettings(self)
        self.writer = Writer(self)
        self.panels = Panels(store, self.writer, self.selection, self.settings, self)
        self.setCentralWidget(self.panels)
        self.focus_ring = FocusRing(self)
        self.picture_turns = PictureTurns(self)
        self.actions_ = Actions(self, self.menuBar())
        self.tasks = Tasks(link, self)
        self.models = ModelController(link, store, self.writer, self.settings, self)
        self.turns = TurnController(link, store, self.panels.pane, self.selection, self.settings, self)
        self.shelf = TraceShelf(self.tasks, store, self)
        self.presenter = Presenter(self.panels.pane, self.selection, self.shelf, self.turns, self)
        self.player = Player(self.selection, self.panels.tree.stepper, self)
        self.files = FileCommands(self, store, self.selection, self.panels, self.models, self.tasks, self.writer)
        self.sampling = SamplingSync(self.panels.pane.settings, self.settings, self)
        self.running = RunningSettings(link, self.settings, self.turns, self.panels.pane, self)
        self.model_display = ModelDisplay(self)
        self.toolbar = MainToolBar(self.actions_, self.settings, self.model_display.menu, self)
        self.addToolBar(Qt.ToolBarArea.TopToolBarArea, self.toolbar)
        self.turn_display = TurnDisplay(self)
        self.live = LiveControl(self)
        self.pages = Pages(self)
        self.view_menu = ViewMenu(self)
        self.record_limit = RecordLimit(self)
        self._connect()
        recordings = shipped_traces() if traces is None else traces
        fill_recordings(self, recordings)
        self.panels.welcome.set_traces(recordings)
        self._restore()
        self.pages.show_first()

    def start(self) -> None:
        """Start the engine; the window is on the screen already."""
        self.models.start()

    def picture_parts(self) -> list[list[QWidget]]:
        """What is drawn together where the whole window is drawn anew, each group in some 10 ms: what is read first."""
        p, tree = self.panels, self.panels.tree
        return [
            [p.middle],
            [tree.across],
            [tree.header, tree.legend, tree.phase_bar],
            [tree.timeline, tree.kv_strip],
            [p.chats, p.chat_settings],
            [self.menuBar(), self.toolbar, p.status],
            [p.sliders],
            [p.plots],
        ]

    def say(self, text: str) -> None:
        """Good news."""
        self.panels.messages.show_message(text)

    def complain(self, text: str, detail: str = "") -> None:
        """Bad news, with the traceback for those who want it."""
        self.panels.messages.show_message(text, "error", detail=detail)

    def show_shortcuts(self) -> None:
        """The sheet of all keys; there is one."""
        sheet = next((s for s in self.findChildren(ShortcutSheet) if s.wanted), None) or ShortcutSheet(self)
        sheet.appear()

    def createPopupMenu(self) -> None:
        """None: Qt's would hide the toolbar, and nothing would bring it back."""

    def open_menu(self) -> None:
        """The menu of what has the focus, as the Menu key does; many keyboards have none."""
        focus = self.focusWidget()
        if focus is not None:
            point = focus.inputMethodQuery(Qt.InputMethodQuery.ImCursorRectangle).center()
            event = QContextMenuEvent(QContextMenuEvent.Reason.Keyboard, point, focus.mapToGlobal(point))
            QApplication.sendEvent(focus, event)

    def _connect(self) -> None:
        """What needs no part of its own: files, messages, commands."""
        p, f = self.panels, self.files
        self.tasks.failed.connect(self.complain)
        self.writer.failed.connect(
            lambda text, detail: p.messages.show_message(text, "error", detail=detail, key="written")
        )
        for problem in (p.chats.problem, p.pane.problem, p.tree.problem, f.problem):
            problem.connect(self.complain)
        f.said.connect(self.say)
        p.tree.picture_drawn.connect(f.write_picture)
        p.sliders.refused.connect(lambda text: p.messages.show_message(text, "warning", key="refused"))
        p.pane.provenance_changed.connect(lambda on: self.actions_.set_checked("provenance", on))
        p.welcome.trace_chosen.connect(f.open_trace)
        p.tree.export_trace_requested.connect(f.save_trace)
        p.tree.export_rounds_requested.connect(f.save_rounds)
        p.plots.export_wanted.connect(f.save_plot)
        p.chats.export_wanted.connect(f.export_chat)
        p.chats.import_wanted.connect(f.ask_import)
        connect_commands(self)
        QShortcut(QKeySequence("?"), self).activated.connect(self.show_shortcuts)
        QShortcut(QKeySequence("Shift+F10"), self).activated.connect(self.open_menu)

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
        self.writer.post(partial(save_layout, self.store, layout), "saving the layout")

    def closeEvent(self, event: QCloseEvent) -> None:
        """Save, stop the engine, end its thread; the one way out."""
        self.player.stop()
        self.files.reader.cancel()
        self.panels.pane.settings.flush()
        self.models.flush()
        self._save()
        self.hide()
        written = self.writer.close(WRITE_SECONDS)
        self.clean = self.link.shut_down(CLOSE_MS) and written
        if written:
            self.store.close()
        super().closeEvent(event)
