"""The shown branch of a chat as the store has it: opened, made longer, changed for another one. Knows no widget."""

from __future__ import annotations

from app.store import Chat, Message, Store


class Branch:
    """Its methods that ask the store raise `StoreError`; the path is then as it was.

    Attributes:
        chat: the chat; 0 for none.
        path: its messages, the first one first.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self.chat = 0
        self.path: list[Message] = []

    def open(self, chat: int, message: int = 0) -> Chat:
        """Show a chat, in the branch that holds `message`, if one is given."""
        record = self._store.chats.get(chat)
        if message:
            self._store.messages.reveal(message)
        self.path = self._store.messages.path(chat)
        self.chat = chat
        return record

    def close(self) -> None:
        """Show nothing."""
        self.chat, self.path = 0, []

    def ask(self, parent: int | None, text: str | None) -> int:
        """Add a prompt (None: only another reply) and an empty reply below `parent`; the reply's id.

        Makes a chat where none is shown.
        """
        if not self.chat:
            self.chat = self._store.chats.new().id
        longer = text is not None and parent == (self.path[-1].id if self.path else None)
        prompt = None if text is None else self._store.messages.add(self.chat, parent, "user", text)
        reply = self._store.messages.add(self.chat, prompt.id if prompt is not None else parent, "assistant")
        if prompt is not None and longer:  # hundreds of messages need not be read again
            self.path = [*self.path, prompt, reply]
        else:
            self.path = self._store.messages.path(self.chat)
        return reply.id

    def step_version(self, message: int, delta: int) -> int | None:
        """Go to the branch of a message's next (+1) or previous (-1) version: its id, or None where there is none."""
        family = self._store.messages.siblings(message)
        index = next(i for i, m in enumerate(family) if m.id == message) + delta
        if not 0 <= index < len(family):
            return None
        self._store.messages.choose(family[index].id)
        self.path = self._store.messages.path(self.chat)
        return family[index].id

    def find(self, message: int) -> Message | None:
        """A shown message."""
        return next((m for m in self.path if m.id == message), None)

    def update(self, message: Message) -> None:
        """New facts about a shown message."""
        self.path = [message if m.id == message.id else m for m in self.path]

    def prompt(self, system: str, draft: str = "") -> list[dict[str, str]]:
        """The messages as the engine gets them, a `draft` that is not sent yet at the end."""
        messages = [{"role": "system", "content": system}] if system else []
        messages += [{"role": m.role, "content": m.content} for m in self.path if m.content]
        return [*messages, {"role": "user", "content": draft}] if draft else messages

    def left_out(self, count: int | None = None) -> int:
        """How many shown messages the model no longer reads, if it left out `count` (None: as many as the newest reply
        says); empty ones never reached it."""
        if count is None:
            last = next((m for m in reversed(self.path) if m.role == "assistant"), None)
            said = last.stats.get("dropped_messages", 0) if last is not None else 0
            count = said if isinstance(said, int) else 0
        left, shown = count, 0
        for message in self.path:
            if left <= 0:
                break
            shown += 1
            left -= bool(message.content)
        return shown
