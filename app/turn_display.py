"""Shows the running and the selected turn in status line, context meter, plots and sliders; says what went wrong."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from engine import Turn

if TYPE_CHECKING:
    from app.main_window import MainWindow


class TurnDisplay(QObject):
    """Follows the `TurnController` and the `Selection`."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window, self._panels = window, window.panels
        self._turns, self._models, self._link = window.turns, window.models, window.link
        self._selection = window.selection
        self._plain: tuple[float | None, str] = (None, "not measured yet")
        self._turns.started.connect(self._started)
        self._turns.grown.connect(self._grown)
        self._turns.ended.connect(self._ended)
        self._turns.waiting.connect(self._panels.tree.show_phase)
        self._turns.failed.connect(self._failed)
        self._turns.warned.connect(self._warn)
        self._link.warned.connect(self._warned)
        self._link.counted.connect(self._counted)
        self._panels.pane.count_requested.connect(self._count)
        self._models.calibrated.connect(self._calibrated)
        self._selection.turn_changed.connect(self._shown_turn_changed)
        self._selection.round_changed.connect(self._shown_round_changed)

    def _started(self, _turn: Turn) -> None:
        request = self._turns.request
        self._panels.chats.set_running(request.chat if request else 0)
        self._panels.status.set_state("")
        if request is not None and self._models.info is not None:
            save = partial(self._window.store.chats.set_model, request.chat, self._models.info.name)
            self._window.writer.post(save, "saving the chat")

    def _grown(self) -> None:
        p, turn, request = self._panels, self._turns.turn, self._turns.request
        p.status.refresh()
        if turn is not None and turn.start is not None and request is not None and request.chat == p.pane.chat:
            p.pane.set_context_count(turn.start.prompt_tokens + self._turns.emitted, turn.start.context_length)

    def _ended(self, _turn: Turn) -> None:
        self._panels.plots.flush()
        self._panels.chats.set_running(0)
        self._panels.status.refresh()

    def _failed(self, sentence: str, detail: str) -> None:
        retry = ("Try again", self._panels.pane.view.regenerate_last)
        self._panels.messages.show_message(sentence, "error", actions=[retry], detail=detail, key="turn")

    def _warn(self, sentence: str) -> None:
        """Something about the turn."""
        self._panels.messages.show_message(sentence, "warning", key="warning")

    def _warned(self, sentence: str, detail: str) -> None:
        """Something beside a job that goes on."""
        self._panels.messages.show_message(sentence, "warning", detail=detail, key="warned")

    def _count(self, messages: list[dict[str, str]]) -> None:
        if self._models.info is not None:
            self._link.count(messages, self._panels.pane.chat)

    def _counted(self, chat: int, tokens: int) -> None:
        if self._models.info is not None and chat == self._panels.pane.chat:
            self._panels.pane.set_context_count(tokens, self._models.info.context_length)

    def _calibrated(self, ms: float | None, reason: str) -> None:
        self._plain = (ms, reason)
        self._panels.status.set_plain(ms, reason)
        self._show_plain()

    def _show_plain(self) -> None:
        """The line of plain decoding belongs only to turns that ran here, with this model."""
        recorded = self._selection.turn is not None and not self._window.presenter.comparable
        elsewhere = (None, "this run was not made here and now")
        self._panels.plots.set_plain(*(elsewhere if recorded else self._plain))

    def _shown_turn_changed(self, turn: Turn | None) -> None:
        self._panels.status.show_turn(turn, self._window.presenter.comparable)
        self._show_plain()
        self._shown_round_changed()

    def _shown_round_changed(self, _index: int = -1) -> None:
        turn = self._selection.turn
        self._panels.sliders.show_round(self._selection.current(), turn.prefill if turn is not None else None)
