"""One chat as a whole: branch, conversation and composer brought together. Asks for replies, runs none.

Who makes the reply calls `started`, `view.append_text` and `finished`; it is stored where it runs, in another thread.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.chat import pane_keys
from app.chat.branch import Branch
from app.chat.composer import Composer
from app.chat.conversation import ConversationView
from app.chat.drafts import Drafts
from app.chat.kept_settings import KeptSettings
from app.chat.request import Request
from app.chat.sampling_panel import SamplingPanel
from app.selection import Selection
from app.store import Message, Store, StoreError
from app.store.columns import clean
from app.writer import Writer
from engine.trace import Turn

SAVING = "Your message waits until it can be saved…"


class ChatPane(QWidget):
    """Conversation above, composer below; `settings` is the panel of this conversation, to be placed by the window.

    Signals:
        generate: a `Request`; answer with `started`, `view.append_text`, `finished`.
        stop_requested: stop the running reply.
        count_requested: the prompt as it would be sent; answer with `set_context_count`.
        trace_needed: the record of a stored reply is wanted; answer with `view.set_turn` or `view.set_no_turn`.
        turn_wanted: a reply's rounds are to be shown; answer with `Selection.show_turn`, after `view.set_turn`.
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

    def __init__(self, store: Store, writer: Writer, selection: Selection, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._branch = Branch(store, writer)
        self._running: Request | None = None
        self._asking = False  # a prompt is being stored
        self.view = ConversationView(selection)
        self.composer = Composer()
        self.settings = SamplingPanel()
        self._drafts = Drafts(self.composer)
        self._kept = KeptSettings(self.settings, store, writer, lambda: self.chat, self.problem.emit)
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
        self.settings.prompt_changed.connect(self.request_count)
        pane_keys.bind(self, self.view, self.composer)

    # --- which chat

    @property
    def chat(self) -> int:
        """The shown chat; 0 for none."""
        return self._branch.chat

    @property
    def path(self) -> Sequence[Message]:
        """The shown branch, first message first."""
        return self._branch.path

    def read_chat(self, chat: int) -> bool:
        """From here on all is about this chat; `show_chat` shows it.

        Two calls, because each takes long enough for a turn of the event loop. Whether the chat could be read.
        """
        self.settings.flush()
        before = self.chat
        try:
            record = self._branch.open(chat)
        except StoreError as error:
            self.problem.emit(str(error))
            return False
        self.settings.load(*self._kept.of(record))
        self._drafts.switch(before, chat)
        self.request_count()
        return True

    def show_chat(self, message: int = 0) -> None:
        """Show the messages of the chat that was read, from its end or from a message."""
        self.view.set_messages(self.path, at=message)
        self.view.set_dropped(self._branch.left_out())
        if not message and not self.view.flow.following:
            self.view.show_end()  # an open search went to its hit

    def show_words(self, message: int, words: str) -> None:
        """Mark words in the chat and go to where they are in a message (0: to the first)."""
        self.view.show_message(message or (self.path[0].id if self.path else 0), words)

    def close_chat(self) -> None:
        """Show nothing (the chat was deleted)."""
        self._branch.close()
        self.view.set_messages([])

    # --- what the user asks for

    def send(self, text: str) -> None:
        """Send a prompt below the shown branch. The field keeps it until it is stored."""
        self._ask(self.path[-1].id if self.path else None, text, partial(self._drafts.take, text, self.chat))

    def resend(self, message: int, text: str) -> None:
        """Send an edited prompt as another version; the old one and what followed it stay."""
        prompt = self._branch.find(message)
        if prompt is not None:
            self._ask(prompt.parent, text, lambda _: self.view.shown.drafts.pop(message, None))

    def regenerate(self, message: int) -> None:
        """Make another version of a reply."""
        reply = self._branch.find(message)
        if reply is not None and reply.parent is not None:
            self._ask(reply.parent, None)

    def request_count(self) -> None:
        """Ask how long the prompt is as it would be sent now."""
        if self.chat and self._running is None:
            self.count_requested.emit(self._branch.prompt(self._system_prompt(), self.composer.text.strip()))

    def _ask(self, parent: int | None, text: str | None, stored: Callable[[bool], object] = bool) -> None:
        """Store the prompt (None: only another reply) and the empty reply, then ask for it."""
        if self._running is not None or self._asking:
            return
        self.settings.flush()
        prompt = self._branch.prompt(self._system_prompt(), clean(text or ""), self._branch.down_to(parent))
        panel = self.settings
        request = Request(self.chat, 0, tuple(prompt), panel.sampling_of_reply(), panel.max_new_tokens())
        self._asking = True
        self._branch.ask(parent, text, partial(self._asked, request, stored), self._not_asked)
        if self._asking:
            self._set_busy(True)
            self.composer.set_busy(True, SAVING)

    def _asked(self, request: Request, stored: Callable[[bool], object], added: list[Message], shown: bool) -> None:
        self._running = replace(request, chat=added[-1].chat, message=added[-1].id)
        self._asking = False
        stored(shown)
        self.view.begin(self._running.message)
        if shown:
            self.view.set_messages(self.path)
        stopped = self.composer.stopping
        self._set_busy(True)
        self.chats_changed.emit()
        self.generate.emit(self._running)
        if stopped:
            self.stop_requested.emit()

    def _not_asked(self, sentence: str) -> None:
        if self._asking:
            self._asking = False
            self._set_busy(False)
        self.problem.emit(sentence)

    def _system_prompt(self) -> str:
        return self.settings.prompt.toPlainText().strip()

    # --- what the engine answers

    @property
    def running(self) -> Request | None:
        """The request that is being answered."""
        return self._running

    def started(self, message: int, turn: Turn) -> None:
        """The reply has begun; `turn` grows while it runs."""
        self.view.set_turn(message, turn)
        if turn.start is not None and self._running is not None and self._running.chat == self.chat:
            self.view.set_dropped(self._branch.left_out(turn.start.dropped_messages))

    def finished(self, message: int, finish_reason: str, stats: dict[str, Any] | None = None, text: str = "") -> None:
        """The reply is complete (and stored, or being stored). `text` is all of it; "" where it is what was appended.

        Call it in every case: stopped, failed before the first word, or complete.
        """
        live = self.view.shown.live_text(message)
        done = self._branch.finish(message, text or live or "", finish_reason, stats or {})
        if done is not None:
            self.view.finish(done)
        elif live is not None:
            self.view.shown.end(message)
        if self._running is not None and self._running.message == message:
            self._running = None
            self._set_busy(False)
        self.chats_changed.emit()
        self.request_count()

    def set_context_count(self, used: int, limit: int) -> None:
        """Answer to `count_requested`."""
        self.composer.set_context_count(used, limit, self.settings.max_new_tokens(), alone=not self.path)

    def set_state(self, text: str) -> None:
        """One line beside Stop while a reply runs: reading the prompt, waiting at a step."""
        if self._running is not None:
            self.composer.set_busy(True, text)

    # --- inside

    def _set_busy(self, busy: bool) -> None:
        self.composer.set_busy(busy)
        self.view.set_busy(busy)

    def _show_version(self, message: int, delta: int) -> None:
        self._branch.step_version(message, delta, partial(self._version_shown, message), self.problem.emit)

    def _version_shown(self, old: int, version: int) -> None:
        focused, arrow = self.view.focus.is_in(old), self.view.focus.arrow(old)
        self.view.set_messages(self.path, at_end=False)
        self.view.set_dropped(self._branch.left_out())
        self.view.show_message(version)
        if focused:
            self.view.focus.put(version, arrow)
        if (newest := next((m for m in reversed(self.path) if m.has_trace), None)) is not None:
            self.turn_wanted.emit(newest.id)
        self.request_count()
