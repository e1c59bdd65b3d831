"""Ties the underlined tokens of a conversation to the selection: what is hovered or pinned here lights up elsewhere,
and the other way round. Knows which reply the shown turn belongs to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QPoint, Signal

from app.chat.message_view import MessageView
from app.chat.provenance import Provenance
from app.selection import NONE, Selection
from engine.trace import Turn

if TYPE_CHECKING:
    from app.chat.conversation import ConversationView

NO_RECORD = "No record of this reply is kept, so the origin of its tokens is not known."
READING = "Reading the record…"


class TokenLink(QObject):
    """The tokens of one conversation.

    Signals:
        trace_needed: `set_turn` is awaited for this reply.
        turn_wanted: a token of this reply was clicked while another turn is shown; when its turn is shown, the token
            is pinned.

    Attributes:
        on: whether tokens are shown.
    """

    trace_needed = Signal(int)
    turn_wanted = Signal(int)

    def __init__(self, conversation: ConversationView, selection: Selection) -> None:
        super().__init__(conversation)
        self._conversation = conversation
        self._selection = selection
        self._turns: dict[int, Turn | None] = {}  # None: no record is kept
        self._reasons: dict[int, str] = {}  # why a record that is kept cannot be read
        self._laid_out: dict[int, Provenance] = {}
        self._pending: tuple[int, int, int] | None = None  # message, round, node to pin
        self.on = False
        selection.hover_changed.connect(self._hover_changed)
        for changed in (selection.pin_changed, selection.round_changed, selection.live_changed):
            changed.connect(self._chosen_changed)
        selection.turn_changed.connect(self._turn_changed)

    def keep_only(self, messages: set[int]) -> None:
        """Forget the records of other messages."""
        self._turns = {k: v for k, v in self._turns.items() if k in messages}
        self._reasons = {k: v for k, v in self._reasons.items() if k in messages}
        self._laid_out = {k: v for k, v in self._laid_out.items() if k in messages}

    def set_on(self, on: bool) -> None:
        """Show tokens, or Markdown."""
        self.on = on
        for view in self._conversation.views():
            self.show(view.message.id)

    def set_turn(self, message: int, turn: Turn | None, why: str = "") -> None:
        """The record of a reply; None: none is stored, or `why` not, so what is known of a running one stays."""
        if turn is None and self._turns.get(message) is not None:
            return
        self._turns[message], self._reasons[message] = turn, why
        self._laid_out.pop(message, None)
        if self.on:
            self.show(message)
        self._pin_pending()

    def grown(self, message: int) -> None:
        """Text was appended."""
        if self.on and message in self._turns:
            self.show(message)

    def show(self, message: int) -> None:
        """Bring the widget of a reply up to date."""
        view = self._conversation.view_of(message)
        if view is None or view.user:
            return
        turn = self._turns.get(message)
        if not self.on:
            view.show_tokens(None)
        elif message not in self._turns:
            begun = self._conversation.shown.live_text(message) is not None  # its record comes with its first word
            view.show_tokens(None, "" if begun else READING)
            if not begun:
                self.trace_needed.emit(message)
        elif turn is None:
            view.show_tokens(None, self._reasons[message] or NO_RECORD)
        else:
            view.show_tokens(self._lay_out(message, turn))
            self._light(view)

    def hovered(self, message: int, number: int, node: int) -> None:
        """The mouse is over a token."""
        if message == self._shown():
            self._selection.hover(number, node)
            return
        view = self._conversation.view_of(message)
        if view is not None and view.tokens is not None:
            view.tokens.light(number, node)

    def clicked(self, message: int, number: int, node: int) -> None:
        """A token was clicked."""
        if message == self._shown():
            self._selection.toggle_pin(number, node)
        else:
            self._pending = (message, number, node)
            self.turn_wanted.emit(message)

    def _lay_out(self, message: int, turn: Turn) -> Provenance:
        tokens = self._laid_out.get(message)
        if tokens is None:
            tokens = self._laid_out[message] = Provenance()
        text, complete = self._conversation.shown.text_of(message)
        tokens.update(turn, text, final=complete)
        return tokens

    def _shown(self) -> int:
        """The message whose turn the selection shows; -1 for none of these."""
        turn = self._selection.turn
        return -1 if turn is None else next((m for m, t in self._turns.items() if t is turn), -1)

    def _turn_changed(self) -> None:
        self._pin_pending()
        for view in self._conversation.views():
            self._light(view)

    def _pin_pending(self) -> None:
        if self._pending is not None and self._pending[0] == self._shown():
            _, number, node = self._pending
            self._pending = None
            self._selection.pin(number, node)

    def _hover_changed(self, number: int, node: int) -> None:
        view = self._conversation.view_of(self._shown())
        if view is not None and view.tokens is not None:
            view.tokens.light(number, node)

    def _chosen(self) -> tuple[int, int]:
        """What is pinned, else the round that is held: of a reply that is followed, every new word would be marked."""
        s = self._selection
        return s.pinned if s.pinned != NONE or s.live else (s.round_index, -1)

    def _chosen_changed(self, *_: object) -> None:
        """Mark the words of the chosen round, and scroll to them when they were chosen elsewhere."""
        (number, node), view = self._chosen(), self._conversation.view_of(self._shown())
        if view is None or view.tokens is None:
            return
        if (number, node) == view.tokens.pinned:
            return
        view.tokens.pin(number, node)
        spans = self._laid_out[view.message.id].of_round(number) if number >= 0 else []
        if spans and not view.tokens.underMouse():
            top = view.tokens.mapTo(view, QPoint(0, view.tokens.top_of(spans[0]))).y()
            self._conversation.flow.bring_into_view(view.message.id, top)

    def _light(self, view: MessageView) -> None:
        if view.tokens is not None:
            mine = view.message.id == self._shown()
            view.tokens.light(*(self._selection.hovered if mine else NONE))
            view.tokens.pin(*(self._chosen() if mine else NONE))
