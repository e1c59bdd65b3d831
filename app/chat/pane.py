"""One chat as a whole: store, conversation and composer brought together. Asks for replies, runs none.

Who makes the reply calls `started`, `append_text` and `finished`; storing it while it runs (`Store.messages
.save_progress`, `.finish`, `Store.traces.save`) is done where it runs, in the engine's thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.chat.composer import Composer
from app.chat.conversation import ConversationView
from app.chat.request import Request
from app.chat.sampling_panel import SamplingPanel
from app.selection import Selection
from app.store import Message, Store, StoreError
from app.theme import FONT_SIZE_DEFAULT, theme
from engine.trace import Turn


class ChatPane(QWidget):
    """Conversation above, composer below; `settings` is the panel of this conversation, to be placed by the window.

    Signals:
        generate: a `Request`; answer with `started`, `append_text`, `finished`.
        stop_requested: stop the running reply.
        count_requested: the prompt as it would be sent; answer with `set_context_count`.
        trace_needed: the record of a stored reply is wanted; answer with `set_turn` or `set_no_turn`.
        turn_wanted: a reply's rounds are to be shown; answer with `Selection.show_turn`, after `set_turn`.
        provenance_changed: whether tokens are underlined.
        chats_changed: titles or order of the chat list changed.
        problem: one sentence for the user.
    """

    generate = Signal(object)
    stop_requested = Signal()
    count_requested = Signal(list)
    trace_needed = Signal(int)
    turn_wanted = Signal(int)
    provenance_changed = Signal(bool)
    chats_changed = Signal()
    problem = Signal(str)

    def __init__(self, store: Store, selection: Selection, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self._chat = 0
        self._path: list[Message] = []
        self._drafts: dict[int, str] = {}  # unsent text by chat
        self._running: Request | None = None
        self.view = ConversationView(selection)
        self.composer = Composer()
        self.settings = SamplingPanel()
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.setSpacing(0)
        outer.addWidget(self.view, 1)
        outer.addWidget(self.composer)
        self._connect()

    def _connect(self) -> None:
        self.view.regenerate.connect(self.regenerate)
        self.view.resend.connect(self.resend)
        self.view.version.connect(self._show_version)
        self.view.turn_wanted.connect(self.turn_wanted)
        self.view.trace_needed.connect(self.trace_needed)
        self.view.provenance_changed.connect(self.provenance_changed)
        self.composer.sent.connect(self.send)
        self.composer.stop_requested.connect(self.stop_requested)
        self.composer.draft_changed.connect(self.request_count)
        self.composer.problem.connect(self.problem)
        self.composer.edit_last.connect(self.view.edit_last_prompt)
        self.settings.prompt_changed.connect(self._prompt_changed)
        self.settings.sampling_changed.connect(self._sampling_changed)
        for keys, call in (
            (QKeySequence.StandardKey.Find, self.view.open_find),
            (QKeySequence.StandardKey.ZoomIn, lambda: zoom(1)),
            ("Ctrl+=", lambda: zoom(1)),
            (QKeySequence.StandardKey.ZoomOut, lambda: zoom(-1)),
            ("Ctrl+0", lambda: zoom(0)),
            ("Ctrl+R", self.view.regenerate_last),
            ("Ctrl+E", self.view.edit_last_prompt),
        ):
            shortcut = QShortcut(QKeySequence(keys), self)
            shortcut.activated.connect(call)
        here = Qt.ShortcutContext.WidgetWithChildrenShortcut
        leave = QShortcut(QKeySequence("Alt+Up"), self.composer, context=here)
        leave.activated.connect(lambda: self.view.focus.step(-1))

    # --- which chat

    @property
    def chat(self) -> int:
        """The shown chat; 0 for none."""
        return self._chat

    @property
    def path(self) -> Sequence[Message]:
        """The shown branch, first message first."""
        return self._path

    def open_chat(self, chat: int, message: int = 0, words: str = "") -> None:
        """Show a chat, at its end or at a message, `words` marked."""
        self.settings.flush()
        self._drafts[self._chat] = self.composer.text
        try:
            record = self._store.chats.get(chat)
            if message:
                self._store.messages.reveal(message)
            self._path = self._store.messages.path(chat)
        except StoreError as error:
            self.problem.emit(str(error))
            return
        self._chat = chat
        self.settings.load(record.system_prompt, record.sampling)
        self.view.set_messages(self._path)
        self._mark_dropped()
        self.composer.set_text(self._drafts.pop(chat, ""))
        if message or words:
            self.view.show_message(message or next((m.id for m in self._path), 0), words)
        else:
            self.view.show_end()
        self.request_count()

    def close_chat(self) -> None:
        """Show nothing (the chat was deleted)."""
        self._chat, self._path = 0, []
        self.view.set_messages([])

    # --- what the user asks for

    def send(self, text: str) -> None:
        """Send a prompt below the shown branch."""
        parent = self._path[-1].id if self._path else None
        if self._ask(parent, text):
            self.composer.clear()

    def resend(self, message: int, text: str) -> None:
        """Send an edited prompt as another version; the old one and what followed it stay."""
        parent = next((m.parent for m in self._path if m.id == message), None)
        self._ask(parent, text)

    def regenerate(self, message: int) -> None:
        """Make another version of a reply."""
        parent = next((m.parent for m in self._path if m.id == message), None)
        if parent is not None:
            self._ask(parent, None)

    def request_count(self) -> None:
        """Ask how long the prompt is as it would be sent now."""
        if self._chat and self._running is None:
            draft = self.composer.text.strip()
            self.count_requested.emit(self._prompt(self._path, draft))

    def _ask(self, parent: int | None, text: str | None) -> bool:
        """Store the prompt (None: only another reply) and the empty reply, and ask for it."""
        if self._running is not None:
            return False
        self.settings.flush()
        try:
            if not self._chat:
                self._chat = self._store.chats.new().id
            if text is not None:
                parent = self._store.messages.add(self._chat, parent, "user", text).id
            reply = self._store.messages.add(self._chat, parent, "assistant")
            self._path = self._store.messages.path(self._chat)
        except StoreError as error:
            self.problem.emit(str(error))
            return False
        request = Request(
            self._chat,
            reply.id,
            tuple(self._prompt(self._path[:-1], "")),
            self.settings.sampling_of_reply(),
            self.settings.max_new_tokens(),
        )
        self._running = request
        self.view.begin(reply.id)
        self.view.set_messages(self._path)
        self._set_busy(True)
        self.chats_changed.emit()
        self.generate.emit(request)
        return True

    def _prompt(self, path: Sequence[Message], draft: str) -> list[dict[str, str]]:
        system = self.settings.prompt.toPlainText().strip()
        messages = [{"role": "system", "content": system}] if system else []
        messages += [{"role": m.role, "content": m.content} for m in path if m.content]
        return [*messages, {"role": "user", "content": draft}] if draft else messages

    # --- what the engine answers

    @property
    def running(self) -> Request | None:
        """The request that is being answered."""
        return self._running

    def started(self, message: int, turn: Turn) -> None:
        """The reply has begun; `turn` grows while it runs."""
        self.view.set_turn(message, turn)
        if turn.start is not None and self._running is not None and self._running.chat == self._chat:
            self.view.set_dropped(self._dropped(turn.start.dropped_messages))

    def append_text(self, message: int, text: str) -> None:
        """Text that became displayable."""
        self.view.append_text(message, text)

    def finished(self, message: int, finish_reason: str, stats: dict[str, Any] | None = None, text: str = "") -> None:
        """The reply is complete (and stored, or being stored). `text` is all of it; "" where it is what was appended.

        Call it in every case: stopped, failed before the first word, or complete.
        """
        live = self.view.live_text(message)
        shown = text or live or ""
        known = next((m for m in self._path if m.id == message), None)
        if known is not None:
            has_trace = known.has_trace or bool(stats and stats.get("rounds"))
            done = replace(known, content=shown, finish_reason=finish_reason, stats=stats or {}, has_trace=has_trace)
            self._path = [done if m.id == message else m for m in self._path]
            self.view.finish(done)
        elif live is not None:
            self.view.forget(message)
        if self._running is not None and self._running.message == message:
            self._running = None
            self._set_busy(False)
        self.chats_changed.emit()
        self.request_count()

    def set_turn(self, message: int, turn: Turn) -> None:
        """The record of a reply."""
        self.view.set_turn(message, turn)

    def set_no_turn(self, message: int, why: str = "") -> None:
        """No record of this reply is kept (""), or why it cannot be read."""
        self.view.set_no_turn(message, why)

    def set_context_count(self, used: int, limit: int) -> None:
        """Answer to `count_requested`."""
        self.composer.set_context_count(used, limit, self.settings.max_new_tokens(), alone=not self._path)

    def set_blocked(self, reason: str) -> None:
        """Why nothing can be sent now; "" when it can."""
        self.composer.set_blocked(reason)

    def set_state(self, text: str) -> None:
        """One line beside Stop while a reply runs: reading the prompt, waiting at a step."""
        if self._running is not None:
            self.composer.set_busy(True, text)

    # --- inside

    def _set_busy(self, busy: bool) -> None:
        self.composer.set_busy(busy)
        self.view.set_busy(busy)

    def _show_version(self, message: int, delta: int) -> None:
        try:
            family = self._store.messages.siblings(message)
            index = next(i for i, m in enumerate(family) if m.id == message) + delta
            if not 0 <= index < len(family):
                return
            self._store.messages.choose(family[index].id)
            self._path = self._store.messages.path(self._chat)
        except StoreError as error:
            self.problem.emit(str(error))
            return
        focused = self.view.focus.is_in(message)
        self.view.set_messages(self._path, at_end=False)
        self._mark_dropped()
        self.view.show_message(family[index].id)
        if focused:
            self.view.focus.put(family[index].id)
        newest = next((m for m in reversed(self._path) if m.has_trace), None)
        if newest is not None:
            self.turn_wanted.emit(newest.id)
        self.request_count()

    def _mark_dropped(self) -> None:
        last = next((m for m in reversed(self._path) if m.role == "assistant"), None)
        count = last.stats.get("dropped_messages", 0) if last is not None else 0
        self.view.set_dropped(self._dropped(count if isinstance(count, int) else 0))

    def _dropped(self, count: int) -> int:
        """Messages of the path that the model no longer reads; empty ones never reached it."""
        left, shown = count, 0
        for message in self._path:
            if left <= 0:
                break
            shown += 1
            left -= bool(message.content)
        return shown

    def _prompt_changed(self, text: str) -> None:
        self._keep(lambda: self._store.chats.set_system_prompt(self._chat, text))
        self.request_count()

    def _sampling_changed(self, values: dict[str, Any]) -> None:
        self._keep(lambda: self._store.chats.set_sampling(self._chat, values))

    def _keep(self, call: Any) -> None:
        if self._chat:
            try:
                call()
            except StoreError as error:
                self.problem.emit(str(error))


def zoom(step: int) -> None:
    """Change the text size by a point, or back to the normal size (0)."""
    theme().set_font_size(theme().font_size + step if step else FONT_SIZE_DEFAULT)
