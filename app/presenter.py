"""Decides which turn the right side shows: the running one, a stored one, or a recording."""

from __future__ import annotations

from PySide6.QtCore import QObject

from app.chat.pane import ChatPane
from app.selection import Selection
from app.trace_shelf import TraceShelf
from app.turn_controller import TurnController
from engine import Turn


class Presenter(QObject):
    """Answers the chat's wishes for records.

    Attributes:
        mine: turns that ran in this session with the loaded model; the calibration of this machine applies to them.
    """

    def __init__(
        self,
        pane: ChatPane,
        selection: Selection,
        shelf: TraceShelf,
        turns: TurnController,
        parent: QObject,
    ) -> None:
        super().__init__(parent)
        self._pane, self._selection = pane, selection
        self._shelf, self._turns = shelf, turns
        self._wanted = 0  # message whose turn is to be shown when it is found
        self.mine: set[int] = set()
        pane.trace_needed.connect(shelf.ask)
        pane.turn_wanted.connect(self.show_reply)
        shelf.found.connect(self._found)
        shelf.missing.connect(self._missing)
        turns.started.connect(self._started)
        turns.ended.connect(self._ended)

    @property
    def comparable(self) -> bool:
        """Whether the shown turn ran here, with the loaded model."""
        return self.message in self.mine

    def show_reply(self, message: int) -> None:
        """Show the rounds of a stored or running reply."""
        running = self._turns.request
        if running is not None and running.message == message and self._turns.turn is not None:
            self.mine.add(message)  # also before its first record, which is told only once
            self._show(message, self._turns.turn)
            return
        self._wanted = message
        self._shelf.ask(message)

    def show_chat(self, chat: int) -> None:
        """Show the newest reply of a chat that has rounds."""
        running = self._turns.request
        if running is not None and running.chat == chat:
            self.show_reply(running.message)
            return
        path = self._pane.path if chat == self._pane.chat else ()
        last = next((m for m in reversed(path) if m.role == "assistant" and m.has_trace), None)
        if last is None:
            self._show(0, None)
        else:
            self.show_reply(last.id)

    def show_recording(self, turn: Turn) -> None:
        """Show a recorded run from its first round."""
        self._show(0, turn, live=False)

    def _show(self, message: int, turn: Turn | None, live: bool = True) -> None:
        self._wanted, self.message = 0, message
        self._selection.show_turn(turn, live)

    def _started(self, turn: Turn) -> None:
        request = self._turns.request
        if request is None:
            return
        self.mine.add(request.message)
        if request.chat == self._pane.chat:
            self._show(request.message, turn)

    def _ended(self, turn: Turn) -> None:
        request = self._turns.last_request
        if request is not None and turn.rounds:
            self._shelf.put(request.message, turn)
        elif self._selection.turn is turn and (turn.end is None or turn.end.finish_reason == "cancelled"):
            self.show_chat(self._pane.chat)  # the rounds that were promised will not come

    def _found(self, message: int, turn: Turn) -> None:
        self._pane.view.set_turn(message, turn)
        if message == self._wanted:
            self._show(message, turn)

    def _missing(self, message: int, why: str) -> None:
        self._pane.view.set_no_turn(message, why)
        if message == self._wanted:
            self._show(0, None)
            if why:
                self._pane.problem.emit(why)
