"""Files in and out: recordings, conversations, pictures, tables, models; by dialog or dropped on the window."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Literal

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QFileDialog, QWidget

from app.chat.files import ask_export, ask_import, export_chat, import_chat
from app.model_controller import ModelController
from app.naps import Naps
from app.panels import Panels
from app.save_dialog import ask_where
from app.selection import Selection
from app.store import Chat, Store, StoreError
from app.store.exchange import FORMAT, write_file
from app.tasks import Tasks
from app.trace_reader import TraceReader
from app.writer import Writer
from engine import Turn, rounds_csv, save_trace

TRACES = "Recorded runs (*.json *.json.gz *.gz);;All files (*)"
LARGEST_PEEK = 4096  # bytes of a dropped file looked at to tell a conversation from a recording
OPENED = "Eyrie opens recorded runs and conversations (.json), model folders and GGUF files"
Kind = Literal["folder", "gguf", "conversation", "recording", "other"]


class FileCommands(QObject):
    """Signals:
    trace_opened(Turn, str): a recording was read; the name to show.
    chat_imported(int): a conversation was added to the store.
    said(str): one good sentence.
    problem(str): one bad sentence.
    """

    trace_opened = Signal(object, str)
    chat_imported = Signal(int)
    said = Signal(str)
    problem = Signal(str)

    def __init__(
        self,
        window: QWidget,
        store: Store,
        selection: Selection,
        panels: Panels,
        models: ModelController,
        tasks: Tasks,
        writer: Writer,
    ) -> None:
        super().__init__(window)
        self._window, self._store, self._selection = window, store, selection
        self._panels, self._models, self._tasks = panels, models, tasks
        self._writer = writer
        self._folder = Path.home()
        self.reader = TraceReader(tasks, panels.messages, self)
        self.reader.done.connect(self._trace_read)
        self.reader.problem.connect(self.problem)

    # Recordings

    def ask_trace(self) -> None:
        """Choose a recording and open it."""
        chosen, _ = QFileDialog.getOpenFileName(self._window, "Open a recorded run", str(self._folder), TRACES)
        if chosen:
            self.open_trace(Path(chosen))

    def open_trace(self, path: Path, name: str = "") -> None:
        """Read a recording; the file may be anything, and a large one takes seconds."""
        self._folder = path.parent
        self.reader.read(path, name or path.name.removesuffix(".gz").removesuffix(".json"))

    def _trace_read(self, turn: Turn, name: str) -> None:
        if turn.rounds:
            self.trace_opened.emit(turn, name)
        else:
            self.problem.emit(f"{name} holds no rounds, so there is nothing to look at.")

    def save_trace(self) -> None:
        """Keep all rounds of the shown turn as a file."""
        turn = self._snapshot()
        kinds = "Recorded run (*.json *.json.gz)"
        path = self._ask("Save the trace", "trace.json", kinds, (".json", ".gz")) if turn is not None else None
        if turn is not None and path is not None:
            self._write(partial(save_trace, path, turn, Naps()), path)

    def save_rounds(self) -> None:
        """Keep the rounds of the shown turn as a table."""
        turn = self._snapshot()
        path = self._ask("Save the rounds", "rounds.csv", "Table (*.csv)", (".csv",)) if turn is not None else None
        if turn is not None and path is not None:
            self._write(lambda: write_file(path, rounds_csv(turn)), path)

    def save_tree(self, kind: str) -> None:
        """Keep the shown tree as "png" or "svg"."""
        path = self._ask("Save the tree", f"tree.{kind}", f"Picture (*.{kind})", (f".{kind}",))
        if path is not None:
            self._panels.tree.draw_picture(path, kind)

    def write_picture(self, write: Callable[[], Path]) -> None:
        """Write what was drawn, in another thread."""
        self._tasks.run_beside(
            write, "saving a picture", lambda path: self.said.emit(f"Saved {path}."), self.problem.emit
        )

    def save_plot(self, name: str, kind: str) -> None:
        """Keep a chart as "png" or "csv"."""
        path = self._ask("Save the chart", f"{name}.{kind}", f"*.{kind}", (f".{kind}",))
        if path is None:
            return
        self.write_picture(self._panels.plots.export(name, path))

    # Conversations

    def export_chat(self, chat: int, kind: str) -> None:
        """Keep a conversation as "md" or "json"."""
        if not chat:
            self.problem.emit("There is no conversation to export: start or choose one first.")
            return
        try:
            title = self._store.chats.get(chat).name
        except StoreError as error:
            self.problem.emit(str(error))
            return
        path = ask_export(self._window, title, kind, self._folder)
        if path is not None:
            self._folder = path.parent
            self._write(partial(export_chat, self._store, chat, path), path)

    def ask_import(self) -> None:
        """Choose a conversation file and add it."""
        path = ask_import(self._window, self._folder)
        if path is not None:
            self.import_file(path)

    def import_file(self, path: Path) -> None:
        """Add a conversation file."""
        self._folder = path.parent
        read = partial(import_chat, self._store, path)
        self._writer.post(read, f"importing {path.name}", self._imported, self.problem.emit)

    def _imported(self, chat: Chat) -> None:
        self.chat_imported.emit(chat.id)
        self.said.emit(f"Imported “{chat.name}”.")

    # Models

    def ask_folder(self) -> None:
        """Choose a model folder and load it."""
        chosen = QFileDialog.getExistingDirectory(self._window, "Open a model folder", str(self._folder))
        if chosen:
            self._models.load(Path(chosen))

    def ask_gguf(self) -> None:
        """Choose a GGUF file, convert and load it."""
        chosen, _ = QFileDialog.getOpenFileName(
            self._window, "Open a GGUF file", str(self._folder), "Models (*.gguf);;All files (*)"
        )
        if chosen:
            self._models.get(chosen)

    # Dropped

    def drop(self, path: Path) -> None:
        """Do what fits the file: a model, a conversation, or a recording."""
        look = partial(kind_of, path)
        self._tasks.run(look, f"opening {path.name}", partial(self._dropped, path), self.problem.emit)

    def _dropped(self, path: Path, kind: Kind) -> None:
        match kind:
            case "folder":
                self._models.load(path)
            case "gguf":
                self._models.get(str(path))
            case "conversation":
                self.import_file(path)
            case "recording":
                self.open_trace(path)
            case _:
                self.problem.emit(f"{path.name} cannot be opened: {OPENED}.")

    # Inside

    def _snapshot(self) -> Turn | None:
        """The shown turn as it is now; the engine may go on adding to it."""
        turn = self._selection.turn
        if turn is None or not turn.rounds:
            self.problem.emit("There are no rounds to save yet: send a message or open a recorded run first.")
            return None
        return Turn(turn.start, turn.prefill, list(turn.rounds), turn.end)

    def _ask(self, title: str, name: str, kinds: str, suffixes: tuple[str, ...]) -> Path | None:
        """A file to write, its extension added when it is missing."""
        path = ask_where(self._window, title, self._folder / name, kinds, suffixes)
        if path is not None:
            self._folder = path.parent
        return path

    def _write(self, call: Callable[[], object], path: Path) -> None:
        self._tasks.run(call, f"saving {path.name}", lambda _: self.said.emit(f"Saved {path}."), self.problem.emit)


def kind_of(path: Path) -> Kind:
    """What a dropped file looks like, by its name and its beginning. A file that is gone is left to who reads it."""
    if path.is_dir():
        return "folder"
    if path.suffix.lower() == ".gguf":
        return "gguf"
    if path.exists() and not path.is_file():
        return "other"  # a pipe or a device, which may be without end
    try:
        with path.open("rb") as file:
            start = file.read(LARGEST_PEEK)
    except OSError:
        return "recording"
    if json.dumps(FORMAT).encode() in start:
        return "conversation"
    named = path.suffix.lower() in ("", ".json", ".gz")
    return "recording" if named or start.startswith((b"{", b"\x1f\x8b")) else "other"
