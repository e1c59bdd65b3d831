"""The conversation on screen: messages in a column, streaming, the tail followed or not, words found, tokens shown.

Shows what it is given; what the user wants leaves as signals. Knows no store and no engine.
"""

from __future__ import annotations

import math
from dataclasses import replace

from PySide6.QtCore import QEvent, QObject, QPoint, Qt, QTimer, Signal
from PySide6.QtGui import QFontMetricsF, QKeySequence, QResizeEvent, QShortcut
from PySide6.QtWidgets import QLabel, QPushButton, QVBoxLayout, QWidget

from app.chat import look
from app.chat.find_bar import FindBar
from app.chat.flow import Flow, Item
from app.chat.message_view import MessageView
from app.chat.provenance import Provenance, TokenBytes
from app.selection import Selection
from app.store import Message
from app.theme import GAP, theme
from engine.trace import Turn

NO_RECORD = "No record of this reply is kept, so the origin of its tokens is not known."
EMPTY = "Ask something below. The reply appears here, and its draft trees beside it."


class ConversationView(QWidget):
    """One chat's shown branch.

    Signals (ids of messages):
        regenerate: another version of a reply is wanted.
        resend: an edited prompt is to be sent as another version.
        version: the previous (-1) or next (+1) version of a message is to be shown.
        turn_wanted: the turn of this reply is to be shown in the tree view.
        trace_needed: `set_turn` or `set_no_turn` is awaited for this reply.
        provenance_changed: whether tokens are underlined.
    """

    regenerate = Signal(int)
    resend = Signal(int, str)
    version = Signal(int, int)
    turn_wanted = Signal(int)
    trace_needed = Signal(int)
    provenance_changed = Signal(bool)

    def __init__(self, selection: Selection, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._selection = selection
        self._messages: dict[int, Message] = {}
        self._live: dict[int, str] = {}  # text so far of running replies
        self._turns: dict[int, Turn | None] = {}
        self._tokens: dict[int, Provenance] = {}
        self._shown_turn = -1  # message whose turn the selection shows
        self._pending_pin: tuple[int, int, int] | None = None
        self._provenance = False
        self._busy = False
        self._hits: list[tuple[int, int]] = []  # (message, n-th in it)
        self._hit = -1
        self._token_bytes: TokenBytes | None = None
        self._notes: dict[int, str] = {}
        self._build()
        selection.hover_changed.connect(self._hover_changed)
        selection.pin_changed.connect(self._pin_changed)
        selection.turn_changed.connect(self._turn_changed)
        theme().changed.connect(self.restyle)
        self.restyle()

    def _build(self) -> None:
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.setSpacing(0)
        self.find_bar = FindBar(self)
        self.find_bar.changed.connect(self._find)
        self.find_bar.step.connect(self._find_step)
        self.find_bar.closed.connect(self._find_closed)
        outer.addWidget(self.find_bar)
        self.flow = Flow(self)
        self.flow.setAccessibleName("Conversation")
        self.flow.made.connect(self._made)
        self.flow.following_changed.connect(self._following_changed)
        outer.addWidget(self.flow, 1)
        self._empty = QLabel(EMPTY, self.flow)
        self._empty.setWordWrap(True)
        self._empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.pill = QPushButton("↓ new text", self)
        self.pill.setAccessibleName("Go to the new text at the end")
        self.pill.setToolTip("Go to the end and follow it (End)")
        self.pill.setCursor(Qt.CursorShape.PointingHandCursor)
        self.pill.clicked.connect(self.show_end)
        self.pill.hide()
        self.flow.installEventFilter(self)
        for keys, call in (
            ("Alt+Up", lambda: self._focus_step(-1)),
            ("Alt+Down", lambda: self._focus_step(1)),
        ):
            shortcut = QShortcut(QKeySequence(keys), self, context=Qt.ShortcutContext.WidgetWithChildrenShortcut)
            shortcut.activated.connect(call)

    # --- what is shown

    def set_messages(self, messages: list[Message], at_end: bool = True) -> None:
        """Show a branch. Messages that are shown already keep their widgets; a running reply keeps its text."""
        same = [m.id for m in messages if m.id in self._messages]
        self._messages = {m.id: m for m in messages}
        self._tokens = {k: v for k, v in self._tokens.items() if k in self._messages}
        self._turns = {k: v for k, v in self._turns.items() if k in self._messages}
        self.flow.set_items([self._item(m) for m in messages], at_end)
        for key in same:
            view = self._view(key)
            if view is not None and not view.running:
                view.set_message(self._messages[key])
        self._empty.setVisible(not messages)
        self.pill.setVisible(False)
        if self.find_bar.isVisible():
            self._find(self.find_bar.field.text())

    def message_ids(self) -> list[int]:
        """The shown branch."""
        return list(self._messages)

    def begin(self, message: int) -> None:
        """This reply is running; its text will be appended, also while another chat is shown."""
        self._live[message] = ""
        if message in self._messages:
            self.flow.remake(message)
            self.flow.keep(message, True)
            self.flow.show_end()

    def append_text(self, message: int, text: str) -> None:
        """Streamed text of a running reply."""
        if message not in self._live or not text:
            return
        self._live[message] += text
        if message not in self._messages:
            return
        view = self._view(message)
        if view is not None:
            view.append(text)
        if not self.flow.following:
            self._show_pill()
        if self._provenance and message in self._turns:
            self._show_tokens(message)

    def finish(self, message: Message) -> None:
        """A running reply is complete."""
        self._live.pop(message.id, None)
        if message.id not in self._messages:
            return
        self._messages[message.id] = message
        self.flow.keep(message.id, False)
        view = self._view(message.id)
        if view is not None:
            view.finish(message)
        if self._provenance:
            self._show_tokens(message.id)

    def forget(self, message: int) -> None:
        """A running reply of another chat is complete."""
        self._live.pop(message, None)

    def live_text(self, message: int) -> str | None:
        """The text so far of a running reply, or None."""
        return self._live.get(message)

    def set_busy(self, busy: bool) -> None:
        """Whether a reply is running anywhere: nothing else can be asked for."""
        self._busy = busy
        for view in self._views():
            view.set_busy(busy)

    def set_dropped(self, count: int) -> None:
        """Mark that the model no longer reads the first `count` messages; 0 removes the mark."""
        ids = list(self._messages)
        self._notes = {}
        if 0 < count < len(ids):
            messages = "message" if count == 1 else f"{count} messages"
            self._notes[ids[count]] = f"↑ The context is full: the model no longer reads the first {messages} above."
        for view in self._views():
            view.set_note(self._notes.get(view.message.id, ""))

    def show_message(self, message: int, words: str = "") -> None:
        """Scroll to a message; `words` opens the search on them."""
        self.flow.show_item(message, -GAP)
        if words:
            self.find_bar.field.setText(words)
            self.find_bar.open()
            self._hit = next((i for i, (m, _) in enumerate(self._hits) if m == message), -1)
            self._show_hit()

    def show_end(self) -> None:
        """Go to the end and follow it."""
        self.flow.show_end()

    def open_find(self) -> None:
        """Search within the conversation."""
        self.find_bar.open()

    def edit_last_prompt(self) -> None:
        """Open the editor of the newest prompt."""
        last = next((m.id for m in reversed(self._messages.values()) if m.role == "user"), None)
        if last is not None:
            self.flow.show_item(last, -GAP)
            view = self._view(last)
            if view is not None:
                view.edit()

    def regenerate_last(self) -> None:
        """Ask for another version of the newest reply."""
        last = next(reversed(self._messages.values()), None)
        if last is not None and last.role == "assistant" and not self._busy:
            self.regenerate.emit(last.id)

    # --- tokens

    @property
    def provenance(self) -> bool:
        """Whether tokens are underlined by how they came."""
        return self._provenance

    def set_provenance(self, on: bool) -> None:
        """Underline every token of every reply, or show Markdown."""
        if on != self._provenance:
            self._provenance = on
            for view in self._views():
                self._show_tokens(view.message.id)
            self.provenance_changed.emit(on)

    def set_token_bytes(self, token_bytes: TokenBytes | None) -> None:
        """The tokenizer's exact bytes of a token, where they are known; makes half characters exact."""
        self._token_bytes = token_bytes

    def set_turn(self, message: int, turn: Turn) -> None:
        """The record of a reply; it may still grow, then call `append_text` as text arrives."""
        self._turns[message] = turn
        self._tokens.pop(message, None)
        if turn is self._selection.turn:
            self._shown_turn = message
        if self._provenance:
            self._show_tokens(message)
        if self._pending_pin is not None and self._pending_pin[0] == message and turn is self._selection.turn:
            _, number, node = self._pending_pin
            self._pending_pin = None
            self._selection.pin(number, node)

    def set_no_turn(self, message: int) -> None:
        """There is no record of this reply."""
        self._turns[message] = None
        if self._provenance:
            self._show_tokens(message)

    def _show_tokens(self, message: int) -> None:
        view = self._view(message)
        if view is None or view.user:
            return
        if not self._provenance:
            view.show_tokens(None)
        elif message not in self._turns:
            view.show_tokens(None, "Reading the record…")
            self.trace_needed.emit(message)
        else:
            turn = self._turns[message]
            view.show_tokens(*((None, NO_RECORD) if turn is None else (self._laid_out(message, turn), "")))
            self._light(view)

    def _laid_out(self, message: int, turn: Turn) -> Provenance:
        tokens = self._tokens.get(message)
        if tokens is None:
            tokens = self._tokens[message] = Provenance(self._token_bytes)
        live = self._live.get(message)
        text = self._messages[message].content if live is None else live
        tokens.update(turn, text, final=live is None)
        return tokens

    def _token_hovered(self, message: int, number: int, node: int) -> None:
        if message == self._shown_message():
            self._selection.hover(number, node)
        else:
            view = self._view(message)
            if view is not None and view.tokens is not None:
                view.tokens.light(number, node)

    def _token_clicked(self, message: int, number: int, node: int) -> None:
        if message == self._shown_message():
            self._selection.toggle_pin(number, node)
        else:
            self._pending_pin = (message, number, node)
            self.turn_wanted.emit(message)

    def _shown_message(self) -> int:
        """The message whose turn the selection shows; -1 for none of these."""
        turn = self._selection.turn
        return -1 if turn is None else next((m for m, t in self._turns.items() if t is turn), -1)

    def _turn_changed(self, turn: object) -> None:
        if self._pending_pin is not None:
            message, number, node = self._pending_pin
            if self._turns.get(message) is turn:
                self._pending_pin = None
                self._selection.pin(number, node)
        for view in self._views():
            self._light(view)

    def _hover_changed(self, number: int, node: int) -> None:
        view = self._view(self._shown_message())
        if view is not None and view.tokens is not None:
            view.tokens.light(number, node)

    def _pin_changed(self, number: int, node: int) -> None:
        view = self._view(self._shown_message())
        if view is None or view.tokens is None:
            return
        view.tokens.pin(number, node)
        spans = self._tokens[view.message.id].of_round(number) if number >= 0 else []
        if spans and not view.tokens.underMouse():
            top = view.tokens.mapTo(view, QPoint(0, view.tokens.top_of(spans[0]))).y()
            height = self.flow.viewport().height()
            seen = view.mapTo(self.flow.viewport(), QPoint(0, top)).y()
            if not 0 <= seen <= height - 40:
                self.flow.show_item(view.message.id, top - height // 3)

    def _light(self, view: MessageView) -> None:
        if view.tokens is None:
            return
        mine = view.message.id == self._shown_message()
        view.tokens.light(*(self._selection.hovered if mine else (-1, -1)))
        view.tokens.pin(*(self._selection.pinned if mine else (-1, -1)))

    # --- widgets of messages

    def _item(self, message: Message) -> Item:
        return Item(message.id, lambda parent: self._make(message.id, parent), lambda w: self._estimate(message.id, w))

    def _make(self, key: int, parent: QWidget) -> QWidget:
        message = self._messages[key]
        live = self._live.get(key)
        view = MessageView(message if live is None else _blank(message), live is not None, parent)
        if live:
            view.append(live)
        view.regenerate.connect(self.regenerate)
        view.resend.connect(self.resend)
        view.version.connect(self.version)
        view.rounds.connect(self.turn_wanted)
        view.token_hovered.connect(self._token_hovered)
        view.token_clicked.connect(self._token_clicked)
        view.set_busy(self._busy)
        view.set_note(self._notes.get(key, ""))
        return view

    def _made(self, key: int, widget: QWidget) -> None:
        if self._provenance:
            QTimer.singleShot(0, widget, lambda: self._show_tokens(key))
        if self._hits:
            self._mark(widget)  # type: ignore[arg-type]

    def _estimate(self, key: int, width: int) -> int:
        """Height of a message without making it."""
        metrics = QFontMetricsF(theme().font())
        per_line = max(10.0, (width - 40) / metrics.averageCharWidth())
        text = self._messages[key].content
        lines = sum(max(1, math.ceil(len(line) / per_line)) for line in text.split("\n")) if text else 1
        return int(lines * metrics.lineSpacing() * 1.2) + 70

    def _view(self, key: int) -> MessageView | None:
        widget = self.flow.widget_of(key)
        return widget if isinstance(widget, MessageView) else None

    def _views(self) -> list[MessageView]:
        return [w for w in self.flow.widgets() if isinstance(w, MessageView)]

    def _focus_step(self, delta: int) -> None:
        """Move the focus to the neighbouring message."""
        ids = list(self._messages)
        if not ids:
            return
        focus = self.window().focusWidget()
        here = next(
            (v.message.id for v in self._views() if focus is not None and (v is focus or v.isAncestorOf(focus))), None
        )
        at = ids.index(here) + delta if here in ids else len(ids) - 1
        key = ids[max(0, min(at, len(ids) - 1))]
        if self._view(key) is None or not self._view(key).isVisible():  # type: ignore[union-attr]
            self.flow.show_item(key, -GAP)
        view = self._view(key)
        if view is not None:
            view.setFocus(Qt.FocusReason.TabFocusReason)
            self.flow.ensureWidgetVisible(view, 0, GAP)

    # --- search

    def _find(self, words: str) -> None:
        wanted = words.strip().casefold()
        self._hits = []
        if wanted:
            for key, message in self._messages.items():
                text = self._live.get(key, message.content).casefold()
                self._hits += [(key, n) for n in range(text.count(wanted))]
        self._hit = min(max(self._hit, 0), len(self._hits) - 1)
        for view in self._views():
            self._mark(view)
        self._show_hit()

    def _find_step(self, delta: int) -> None:
        if self._hits:
            self._hit = (self._hit + delta) % len(self._hits)
            self._show_hit()

    def _find_closed(self) -> None:
        self._hits, self._hit = [], -1
        for view in self._views():
            self._mark(view)
        self.flow.setFocus()

    def _show_hit(self) -> None:
        self.find_bar.set_count(self._hit + 1, len(self._hits))
        if self._hit < 0 or not self._hits:
            return
        key = self._hits[self._hit][0]
        view = self._view(key)
        if view is None or not view.isVisible():
            self.flow.show_item(key, -GAP)
            view = self._view(key)
        for other in self._views():
            self._mark(other)
        if view is not None:
            self._scroll_to_hit(view)

    def _mark(self, view: MessageView) -> None:
        """Mark the hits in a message's widgets; hits inside Markdown marks are counted, not painted."""
        words = self.find_bar.field.text().strip() if self._hits else ""
        current = self._hits[self._hit] if 0 <= self._hit < len(self._hits) else (-1, -1)
        number = 0
        for block in view.texts():
            found = block.find_all(words) if words else []
            at = current[1] - number if current[0] == view.message.id else -1
            block.mark_found(found, at)
            number += len(found)

    def _scroll_to_hit(self, view: MessageView) -> None:
        for block in view.texts():
            y = block.found_top()
            if y is not None:
                top = block.mapTo(view, QPoint(0, y)).y()
                seen = view.mapTo(self.flow.viewport(), QPoint(0, top)).y()
                if not 0 <= seen <= self.flow.viewport().height() - 40:
                    self.flow.show_item(view.message.id, top - self.flow.viewport().height() // 3)
                return

    # --- look

    def restyle(self) -> None:
        """Take the theme's colours and size."""
        colors = theme()
        surface, line = colors.color("surface").name(), colors.color("line").name()
        self.flow.setStyleSheet(f"QScrollArea {{ background: {surface}; }} {look.conversation(colors)}")
        self._empty.setStyleSheet(f"color: {colors.color('muted').name()}; background: transparent;")
        self.pill.setStyleSheet(
            f"QPushButton {{ background: {colors.color('accent').name()}; color: {colors.color('on_accent').name()};"
            f" border: 1px solid {line}; border-radius: 13px; padding: 4px 14px; }}"
            f"QPushButton:focus {{ border: 2px solid {colors.color('text').name()}; }}"
        )
        for view in self._views():
            view.restyle()
        self.flow.remeasure()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Lay out for the new width."""
        super().resizeEvent(event)
        self._place_pill()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Keep what lies over the column in place."""
        if watched is self.flow and event.type() == QEvent.Type.Resize:
            margin = 4 * GAP
            self._empty.setGeometry(self.flow.rect().adjusted(margin, margin, -margin, -margin))
            self._place_pill()
        return super().eventFilter(watched, event)

    def _show_pill(self) -> None:
        if self.pill.isHidden():
            self.pill.show()
            self.pill.raise_()
            self._place_pill()

    def _place_pill(self) -> None:
        self.pill.adjustSize()
        self.pill.move(
            (self.flow.viewport().width() - self.pill.width()) // 2,
            self.flow.geometry().bottom() - self.pill.height() - GAP,
        )

    def _following_changed(self, following: bool) -> None:
        if following:
            self.pill.hide()


def _blank(message: Message) -> Message:
    return replace(message, content="")
