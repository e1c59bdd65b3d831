"""Shared by the chat's tests."""

from __future__ import annotations

import time

from PySide6.QtTest import QTest
from PySide6.QtWidgets import QListWidgetItem

from app.chat.chat_list import ChatList
from app.chat.message_view import MessageView
from app.chat.pane import ChatPane
from app.chat.request import Request
from app.store import Message, Store


def message(number: int, role: str = "assistant", text: str = "text", **changes: object) -> Message:
    """A message of a straight conversation."""
    values = {
        "id": number, "chat": 1, "parent": number - 1 or None, "role": role, "content": text,
        "created": time.time(), "finish_reason": "stop_token", "stats": {}, **changes,
    }  # fmt: skip
    return Message(**values)  # type: ignore[arg-type]


def conversation(count: int, text: str = "Some words.\n\n- a list\n- of two") -> list[Message]:
    """Prompts and replies in turn."""
    return [message(n, "user" if n % 2 else "assistant", f"{text} {n}") for n in range(1, count + 1)]


def view_of(pane: ChatPane, number: int) -> MessageView:
    """The widget of a message."""
    found = pane.view.flow.widget_of(number)
    assert isinstance(found, MessageView)
    return found


def rows(chats: ChatList) -> list[QListWidgetItem]:
    """What is listed."""
    return [chats.list.item(n) for n in range(chats.list.count())]


def settle(ms: int = 30) -> None:
    """Let timers and layouts run."""
    QTest.qWait(ms)


class Engine:
    """Answers requests as the window does: stores in its own way, tells the pane."""

    def __init__(self, pane: ChatPane, store: Store) -> None:
        self.pane, self.store = pane, store
        self.requests: list[Request] = []
        pane.generate.connect(self.requests.append)

    def answer(self, text: str, reason: str = "stop_token", stats: dict[str, object] | None = None) -> int:
        """Stream and finish the newest request."""
        request = self.requests[-1]
        for word in text.split(" "):
            self.pane.view.append_text(request.message, word + " ")
        self.store.messages.finish(request.message, text, reason, stats)
        self.pane.finished(request.message, reason, stats, text)
        return request.message
