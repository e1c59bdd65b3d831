"""The conversation on screen: messages made into widgets in a column, which grow while their text arrives.

Shows what it is given; what the user wants leaves as signals. Knows no store and no engine.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.chat.find_bar import FindBar
from app.chat.finder import Finder
from app.chat.flow import Flow
from app.chat.flow_items import Item
from app.chat.guessed_height import guessed_height
from app.chat.message_focus import MessageFocus
from app.chat.message_view import MessageView
from app.chat.overlay import Overlay
from app.chat.restyle import restyle, set_sheet
from app.chat.shown import ShownMessages
from app.chat.token_link import TokenLink
from app.selection import Selection
from app.store import Message
from app.theme import GAP, theme
from engine.trace import Turn


class ConversationView(QWidget):
    """One chat's shown branch.

    Signals (ids of messages):
        regenerate: another version of a reply is wanted.
        resend: an edited prompt is to be sent as another version.
        version: the previous (-1) or next (+1) version of a message is to be shown.
        turn_wanted: the turn of this reply is to be shown in the tree view.
        trace_needed: `set_turn` or `set_no_turn` is awaited for this reply.
        provenance_changed: whether tokens are underlined.

    Attributes:
        shown: the messages and the texts that grow.
        tokens: how the words are tied to the rounds.
    """

    regenerate = Signal(int)
    resend = Signal(int, str)
    version = Signal(int, int)
    turn_wanted = Signal(int)
    trace_needed = Signal(int)
    provenance_changed = Signal(bool)

    def __init__(self, selection: Selection, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.shown = ShownMessages()
        self._busy = False
        self._build()
        self.finder = Finder(self, self.find_bar)
        self.tokens = TokenLink(self, selection)
        self.tokens.trace_needed.connect(self.trace_needed)
        self.tokens.turn_wanted.connect(self.turn_wanted)
        theme().changed.connect(self.restyle)
        set_sheet(self.flow)
        self.overlay.restyle()

    def _build(self) -> None:
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.setSpacing(0)
        self.find_bar = FindBar(self)
        outer.addWidget(self.find_bar)
        self.flow = Flow(self)
        self.flow.setAccessibleName("Conversation")
        self.flow.column.made.connect(self._made)
        outer.addWidget(self.flow, 1)
        self.overlay = Overlay(self.flow)
        self.overlay.end_wanted.connect(self.show_end)
        self.focus = MessageFocus(self)

    # --- what is shown

    def set_messages(self, messages: list[Message], at_end: bool = True, at: int = 0) -> None:
        """Show a branch, at its end or at the message `at`. Those shown already keep their widgets and their text."""
        same = self.shown.replace(messages)
        self.tokens.keep_only({*self.shown.ids(), *self.shown.running()})
        self.flow.set_items([self._item(m) for m in messages], at_end, at)
        for key in self.shown.running():
            self.flow.column.keep(key, True)
        for key in same:
            view = self.view_of(key)
            if view is not None and not view.running:
                view.set_message(self.shown[key])
        self.overlay.hint.setVisible(not messages)
        self.overlay.pill.hide()
        self.finder.again()

    def begin(self, message: int) -> None:
        """This reply is running; its text will be appended, also while another chat is shown. Best called before
        `set_messages` shows it: its widget is then made once."""
        self.shown.begin(message)
        if message in self.shown:
            self.flow.column.remake(message)
            self.flow.column.keep(message, True)
            self.flow.show_end()

    def append_text(self, message: int, text: str) -> None:
        """Streamed text of a running reply."""
        if not self.shown.append(message, text):
            return
        view = self.view_of(message)
        if view is not None:
            view.append(text)
            self.flow.grown(message)
        if not self.flow.following:
            self.overlay.show_pill()
        self.tokens.grown(message)

    def finish(self, message: Message) -> None:
        """A running reply is complete."""
        self.shown.end(message.id)
        if message.id not in self.shown:
            return
        self.shown.update(message)
        self.flow.column.keep(message.id, False)
        view = self.view_of(message.id)
        if view is not None:
            view.finish(message)
        self.tokens.show(message.id)

    def set_busy(self, busy: bool) -> None:
        """Whether a reply is running anywhere: nothing else can be asked for."""
        self._busy = busy
        for view in self.views():
            view.set_busy(busy)

    def set_dropped(self, count: int) -> None:
        """Mark that the model no longer reads the first `count` messages; 0 removes the mark."""
        self.shown.set_left_out(count)
        for view in self.views():
            view.set_note(self.shown.note(view.message.id))

    def show_message(self, message: int, words: str = "") -> None:
        """Scroll to a message; `words` opens the search on them."""
        self.flow.show_item(message, -GAP)
        if words:
            self.finder.open_at(message, words)

    def show_end(self) -> None:
        """Go to the end and follow it."""
        self.flow.show_end()

    def open_find(self) -> None:
        """Search within the conversation."""
        self.find_bar.open()

    def edit_last_prompt(self) -> None:
        """Open the editor of the newest prompt."""
        last = self.shown.newest("user")
        if last is not None:
            self.flow.show_item(last.id, -GAP)
            view = self.view_of(last.id)
            if view is not None:
                view.edit()

    def regenerate_last(self) -> None:
        """Ask for another version of the newest reply."""
        last = self.shown.newest()
        if last is not None and last.role == "assistant" and not self._busy:
            self.regenerate.emit(last.id)

    # --- tokens

    @property
    def provenance(self) -> bool:
        """Whether tokens are underlined by how they came."""
        return self.tokens.on

    def set_provenance(self, on: bool) -> None:
        """Underline every token of every reply, or show Markdown."""
        if on != self.tokens.on:
            self.tokens.set_on(on)
            self.provenance_changed.emit(on)

    def set_turn(self, message: int, turn: Turn) -> None:
        """The record of a reply; it may still grow, then call `append_text` as text arrives."""
        self.tokens.set_turn(message, turn)

    def set_no_turn(self, message: int, why: str = "") -> None:
        """There is no record of this reply (""), or why it cannot be read."""
        self.tokens.set_turn(message, None, why)

    # --- widgets of messages

    def _item(self, message: Message) -> Item:
        return Item(
            message.id,
            lambda parent: self._make(message.id, parent),
            lambda width: guessed_height(self.shown[message.id].content, width),
        )

    def _make(self, key: int, parent: QWidget) -> QWidget:
        message, live = self.shown[key], self.shown.live_text(key)
        view = MessageView(message if live is None else replace(message, content=""), live is not None, parent)
        if live:
            view.append(live)
        view.regenerate.connect(self.regenerate)
        view.resend.connect(self.resend)
        view.version.connect(self.version)
        view.rounds.connect(self.turn_wanted)
        view.token_hovered.connect(self.tokens.hovered)
        view.token_clicked.connect(self.tokens.clicked)
        view.word_hovered.connect(self.tokens.word_hovered)
        view.word_clicked.connect(self.tokens.word_clicked)
        view.drafts = self.shown.drafts
        view.set_busy(self._busy)
        view.set_note(self.shown.note(key))
        return view

    def _made(self, key: int, widget: QWidget) -> None:
        if self.tokens.on or self.tokens.marks(key):
            QTimer.singleShot(0, widget, lambda: self.tokens.show(key))
        if isinstance(widget, MessageView):
            self.finder.mark(widget)

    def view_of(self, key: int) -> MessageView | None:
        """The widget of a message, if it exists now."""
        widget = self.flow.widget_of(key)
        return widget if isinstance(widget, MessageView) else None

    def views(self) -> list[MessageView]:
        """The widgets that exist now, from top to bottom."""
        return [w for w in self.flow.widgets() if isinstance(w, MessageView)]

    def reveal(self, key: int) -> MessageView | None:
        """Bring a message into view, if it is not, and return its widget."""
        view = self.view_of(key)
        if view is None or not view.isVisible():
            self.flow.show_item(key, -GAP)
        return self.view_of(key)

    # --- look

    def restyle(self) -> Iterator[None]:
        """Take the theme's colours and size, a step for each `next`."""
        return restyle(self.flow, self.overlay)
