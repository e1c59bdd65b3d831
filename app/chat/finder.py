"""Finds words in a conversation, marks them and goes from one to the next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QPoint, Qt
from PySide6.QtGui import QKeyEvent
from shiboken6 import isValid

from app.chat.find_bar import FindBar
from app.chat.message_view import MessageView

if TYPE_CHECKING:
    from app.chat.conversation import ConversationView


class Finder(QObject):
    """Ties a search bar to a conversation. Hits are counted in the messages' source text."""

    def __init__(self, conversation: ConversationView, bar: FindBar) -> None:
        super().__init__(conversation)
        self._conversation = conversation
        self._bar = bar
        self._hits: list[tuple[int, int]] = []  # message, and the hit's number in it
        self._current = -1
        self._wanted = 0  # message whose first hit is to be shown
        bar.changed.connect(self.find)
        bar.step.connect(self._step)
        bar.closed.connect(self._closed)
        conversation.installEventFilter(self)

    def open_at(self, message: int, words: str) -> None:
        """Search for words and go to the first hit in a message."""
        self._wanted = message
        self._bar.open(words)

    def close(self) -> None:
        """End the search, if there is one."""
        if self._bar.isVisible():
            self._bar.close_bar()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Escape on a message or beside it, where nothing else has used it."""
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress and event.key() == Qt.Key.Key_Escape:
            self.close()
        return False

    def again(self) -> None:
        """The messages changed."""
        if not self._bar.isHidden():
            self.find(self._bar.field.text())

    def find(self, words: str) -> None:
        """Find all, and go to the hit of the same number as before."""
        wanted = words.strip().casefold()
        self._hits = []
        if wanted:
            for key in self._conversation.shown.ids():
                count = self._conversation.shown.text_of(key)[0].casefold().count(wanted)
                self._hits += [(key, number) for number in range(count)]
        wanted_hit = next((i for i, (m, _) in enumerate(self._hits) if m == self._wanted), self._current)
        self._current, self._wanted = min(max(wanted_hit, 0), len(self._hits) - 1), 0
        self._mark_all()
        self._show_current()

    def mark(self, view: MessageView) -> None:
        """Mark the hits in a message's widgets; hits inside Markdown marks are counted, not painted."""
        words = self._bar.field.text().strip() if self._hits else ""
        current = self._hits[self._current] if self._hits else (-1, -1)
        number = 0
        for block in view.texts():
            found = block.find_all(words) if words else []
            at = current[1] - number if current[0] == view.message.id else -1
            block.mark_found(found, at)
            number += len(found)

    def _mark_all(self) -> None:
        for view in self._conversation.views():
            self.mark(view)

    def _step(self, delta: int) -> None:
        if self._hits:
            self._current = (self._current + delta) % len(self._hits)
            self._mark_all()
            self._show_current()

    def _closed(self, focused: bool) -> None:
        hit = self._conversation.view_of(self._hits[self._current][0]) if self._hits else self._bar.before
        self._hits, self._current = [], -1
        self._mark_all()
        if focused:
            found = hit is not None and isValid(hit) and hit.isVisible()
            (hit if hit is not None and found else self._conversation.flow).setFocus(Qt.FocusReason.OtherFocusReason)

    def _show_current(self) -> None:
        self._bar.set_count(self._current + 1, len(self._hits))
        if not self._hits:
            return
        view = self._conversation.reveal(self._hits[self._current][0])
        if view is None:
            return
        self.mark(view)
        for block in view.texts():
            y = block.found_top()
            if y is not None:
                self._conversation.flow.bring_into_view(view.message.id, block.mapTo(view, QPoint(0, y)).y())
                return
