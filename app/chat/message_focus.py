"""The keyboard's way through the messages: which has the focus, and on to its neighbour."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QKeySequence, QShortcut

from app.theme import GAP

if TYPE_CHECKING:
    from app.chat.conversation import ConversationView


class MessageFocus(QObject):
    """Alt+Up and Alt+Down within a conversation."""

    def __init__(self, conversation: ConversationView) -> None:
        super().__init__(conversation)
        self._conversation = conversation
        here = Qt.ShortcutContext.WidgetWithChildrenShortcut
        for keys, delta in (("Alt+Up", -1), ("Alt+Down", 1)):
            shortcut = QShortcut(QKeySequence(keys), conversation, context=here)
            shortcut.activated.connect(lambda delta=delta: self.step(delta))

    def is_in(self, key: int) -> bool:
        """Whether the focus is on a message or in it."""
        view, focus = self._conversation.view_of(key), self._conversation.window().focusWidget()
        return view is not None and focus is not None and (view is focus or view.isAncestorOf(focus))

    def arrow(self, key: int) -> int:
        """-1 or 1 where the focus is on a message's arrow to its version before or after, else 0."""
        view, focus = self._conversation.view_of(key), self._conversation.window().focusWidget()
        arrows = {view.header.previous_button: -1, view.header.next_button: 1} if view is not None else {}
        return arrows.get(focus, 0)  # type: ignore[call-overload,no-any-return]

    def put(self, key: int, arrow: int = 0) -> None:
        """Put the focus on a message, or on its arrow, the other one where that leads nowhere."""
        view = self._conversation.reveal(key)
        if view is not None:
            arrows = (view.header.previous_button, view.header.next_button)[:: -arrow or 1]
            wanted = next((a for a in arrows if arrow and a.isEnabled()), view)
            wanted.setFocus(Qt.FocusReason.TabFocusReason)
            self._conversation.flow.ensureWidgetVisible(view, 0, GAP)

    def step(self, delta: int) -> None:
        """Move the focus to the neighbouring message; to the newest when it is elsewhere."""
        ids = self._conversation.shown.ids()
        if not ids:
            return
        here = next((v.message.id for v in self._conversation.views() if self.is_in(v.message.id)), None)
        at = ids.index(here) + delta if here in ids else len(ids) - 1
        self.put(ids[max(0, min(at, len(ids) - 1))])
