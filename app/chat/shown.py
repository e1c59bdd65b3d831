"""The messages that a conversation shows and the replies that still grow. Qt-free; knows no store."""

from __future__ import annotations

from app.store import Message


class ShownMessages:
    """The shown branch, and the text so far of every running reply, whether it is in that branch or not.

    Attributes:
        drafts: edits of prompts that were begun and not sent, of all branches and chats, by message.
    """

    def __init__(self) -> None:
        self._messages: dict[int, Message] = {}
        self._live: dict[int, str] = {}
        self._notes: dict[int, str] = {}
        self.drafts: dict[int, str] = {}

    def __contains__(self, key: int) -> bool:
        return key in self._messages

    def __getitem__(self, key: int) -> Message:
        return self._messages[key]

    def replace(self, messages: list[Message]) -> list[int]:
        """Show another branch; the ids of its messages that were shown already."""
        same = [m.id for m in messages if m.id in self._messages]
        self._messages = {m.id: m for m in messages}
        return same

    def update(self, message: Message) -> None:
        """New facts about a shown message."""
        self._messages[message.id] = message

    def ids(self) -> list[int]:
        """The shown branch."""
        return list(self._messages)

    def running(self) -> list[int]:
        """The running replies, those of other branches too."""
        return list(self._live)

    def newest(self, role: str = "") -> Message | None:
        """The last message, or the last one of a role."""
        return next((m for m in reversed(self._messages.values()) if role in ("", m.role)), None)

    def begin(self, key: int) -> None:
        """This reply is running."""
        self._live[key] = ""

    def append(self, key: int, text: str) -> bool:
        """Add streamed text; whether there is something new to show."""
        if key not in self._live or not text:
            return False
        self._live[key] += text
        return key in self._messages

    def end(self, key: int) -> None:
        """This reply is running no more."""
        self._live.pop(key, None)

    def live_text(self, key: int) -> str | None:
        """The text so far of a running reply, or None."""
        return self._live.get(key)

    def text_of(self, key: int) -> tuple[str, bool]:
        """The text of a message, and whether it is complete."""
        live = self._live.get(key)
        return (self._messages[key].content, True) if live is None else (live, False)

    def set_left_out(self, count: int) -> None:
        """The model no longer reads the first `count` messages; 0: it reads all."""
        ids = self.ids()
        self._notes = {}
        if 0 < count < len(ids):
            messages = "message" if count == 1 else f"{count} messages"
            self._notes[ids[count]] = f"↑ The context is full: the model no longer reads the first {messages} above."

    def note(self, key: int) -> str:
        """What is to be said above a message; mostly nothing."""
        return self._notes.get(key, "")
