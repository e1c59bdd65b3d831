"""Ties the words of a conversation to the selection, underlined or as Markdown: what is hovered or pinned here lights
up elsewhere, and the other way round. Knows which reply the shown turn belongs to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QPoint, Signal
from PySide6.QtWidgets import QWidget

from app.chat.message_view import MessageView
from app.chat.provenance import Provenance, Span
from app.chat.provenance_view import ProvenanceView
from app.chat.word_link import WordLink
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
        self._clicked: tuple[int, int] | None = None  # message whose record is awaited, and the character to pin
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
        if self._clicked is not None and self._clicked[0] == message:
            (_, character), self._clicked = self._clicked, None
            if turn is not None:
                self.word_clicked(message, character)

    def grown(self, message: int) -> None:
        """Text was appended."""
        if self.on and message in self._turns:
            self.show(message)
        elif not self.on:
            view = self._conversation.view_of(message)
            if view is not None and view.words is not None and view.words.marked:
                self._renew(view)

    def show(self, message: int) -> None:
        """Bring the widget of a reply up to date."""
        view = self._conversation.view_of(message)
        if view is None or view.user:
            return
        turn = self._turns.get(message)
        if not self.on:
            view.show_tokens(None)
            self._light(view)
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
        if view is not None:
            self._light_up(view, number, node)

    def clicked(self, message: int, number: int, node: int) -> None:
        """A token was clicked."""
        if message == self._shown():
            self._selection.toggle_pin(number, node)
        else:
            self._pending = (message, number, node)
            self.turn_wanted.emit(message)

    def word_hovered(self, message: int, character: int) -> None:
        """The mouse is over a character of a reply that is shown as Markdown; -1: over none."""
        view, span = self._conversation.view_of(message), self._span(message, character)
        if view is None or view.words is None:
            return
        place = NONE if span is None else self._laid_out[message].tokens[span.tokens[-1]][1:]
        self.hovered(message, *place)
        if span is not None and view.tokens is None:
            view.words.light(*place, only=span)  # the same node may hold two words: the one under the mouse is meant
        elif character >= 0 and self._may_ask(view) and not self._conversation.shown.running():
            self.trace_needed.emit(message)

    def word_clicked(self, message: int, character: int) -> None:
        """A character of a reply that is shown as Markdown was clicked."""
        view, span = self._conversation.view_of(message), self._span(message, character)
        if span is not None:
            self.clicked(message, *self._laid_out[message].tokens[span.tokens[-1]][1:])
        elif view is not None and self._may_ask(view):
            self._clicked = (message, character)
            self.trace_needed.emit(message)

    def marks(self, message: int) -> bool:
        """Whether words of this reply are to be marked."""
        return message == self._shown() and (self._selection.hovered != NONE or self._chosen() != NONE)

    def _may_ask(self, view: MessageView) -> bool:
        """Whether a record of this reply is kept that has not been read."""
        return view.message.has_trace and view.message.id not in self._turns

    def _span(self, message: int, character: int) -> Span | None:
        turn = self._turns.get(message)
        return None if turn is None or character < 0 else self._lay_out(message, turn).at(character)

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
        if view is not None:
            self._light_up(view, number, node)

    def _chosen(self) -> tuple[int, int]:
        """What is pinned, else the round that is held: of a reply that is followed, every new word would be marked."""
        s = self._selection
        return s.pinned if s.pinned != NONE or s.live else (s.round_index, -1)

    def _chosen_changed(self, *_: object) -> None:
        """Mark the words of the chosen round, and scroll to them when they were chosen elsewhere."""
        (number, node), view = self._chosen(), self._conversation.view_of(self._shown())
        words = None if view is None else self._words(view)
        if view is None or words is None or (number, node) == words.pinned:
            return
        self._know(view, number)
        words.pin(number, node)
        spans = self._laid_out[view.message.id].of_round(number) if number >= 0 else []
        place: QWidget = view.body if isinstance(words, WordLink) else words
        top = words.top_of(spans[0]) if spans and not place.underMouse() else None
        if top is not None:
            self._conversation.flow.bring_into_view(view.message.id, place.mapTo(view, QPoint(0, top)).y())

    def _light(self, view: MessageView) -> None:
        words, mine = self._words(view), view.message.id == self._shown()
        if words is None:
            return
        hovered, chosen = (self._selection.hovered, self._chosen()) if mine else (NONE, NONE)
        self._know(view, max(hovered[0], chosen[0]))
        words.light(*hovered)
        words.pin(*chosen)
        if isinstance(words, WordLink):
            words.renew()

    def _light_up(self, view: MessageView, number: int, node: int) -> None:
        words = self._words(view)
        if words is not None:
            self._know(view, number)
            words.light(number, node)

    def _renew(self, view: MessageView) -> None:
        self._know(view, 0)
        if view.words is not None:
            view.words.renew()

    def _words(self, view: MessageView) -> ProvenanceView | WordLink | None:
        """What shows the words of a reply."""
        return view.words if view.tokens is None else view.tokens

    def _know(self, view: MessageView, number: int) -> None:
        """Tell the Markdown of a reply where its tokens are, when words of a round are to be marked."""
        turn = self._turns.get(view.message.id)
        if number >= 0 and turn is not None and view.tokens is None and view.words is not None:
            view.words.provenance = self._lay_out(view.message.id, turn)
