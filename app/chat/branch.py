"""The shown branch of a chat as the store has it: opened, made longer, changed for another one. Knows no widget.

It is read here and changed in the writer's thread: what follows a change comes with `then`, or the sentence of an error
with `otherwise`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from app.beside import Otherwise
from app.store import Chat, Message, Store, StoreError
from app.writer import Writer

Asked = Callable[[list[Message], bool], object]


class Branch:
    """`open` raises `StoreError`; the path is then as it was.

    Attributes:
        chat: the chat; 0 for none.
        path: its messages, the first one first.
    """

    def __init__(self, store: Store, writer: Writer) -> None:
        self._store, self._writer = store, writer
        self.chat = 0
        self.path: list[Message] = []

    def open(self, chat: int) -> Chat:
        """Show a chat."""
        record = self._store.chats.get(chat)
        self.path = self._store.messages.path(chat)
        self.chat = chat
        return record

    def close(self) -> None:
        """Show nothing."""
        self.chat, self.path = 0, []

    def ask(self, parent: int | None, text: str | None, then: Asked, otherwise: Otherwise) -> None:
        """Add a prompt (None: only another reply) and an empty reply below `parent`, in an empty chat where none is
        shown. `then` gets them, and whether they are in the path: another chat may be shown by then."""
        call = partial(_ask, self._store, self.chat, parent, text)
        self._writer.run(call, "saving the message", partial(self._asked, self.chat, then, otherwise), otherwise)

    def _asked(self, chat: int, then: Asked, otherwise: Otherwise, added: list[Message]) -> None:
        if self.chat not in (chat, added[0].chat):
            then(added, False)
            return
        self.chat = added[0].chat
        end = self.path[-1].id if self.path else None
        if len(added) == 2 and added[0].parent == end:  # hundreds of messages need not be read again
            self.path = [*self.path, *added]
            then(added, True)
        else:
            then(added, self._read(otherwise))

    def step_version(self, message: int, delta: int, then: Callable[[int], object], otherwise: Otherwise) -> None:
        """Go to the branch of a message's next (+1) or previous (-1) version, if there is one; `then` gets its id."""
        call = partial(_step, self._store, message, delta)
        self._writer.run(call, "changing the version", partial(self._stepped, self.chat, then, otherwise), otherwise)

    def _stepped(self, chat: int, then: Callable[[int], object], otherwise: Otherwise, version: int | None) -> None:
        if version is not None and chat == self.chat and self._read(otherwise):
            then(version)

    def _read(self, otherwise: Otherwise) -> bool:
        """Read the path again; whether that was possible."""
        try:
            self.path = self._store.messages.path(self.chat)
        except StoreError as error:
            otherwise(str(error))
            return False
        return True

    def find(self, message: int) -> Message | None:
        """A shown message."""
        return next((m for m in self.path if m.id == message), None)

    def finish(self, message: int, text: str, finish_reason: str, stats: dict[str, Any]) -> Message | None:
        """A reply is complete: what it is now, or None where it is not shown."""
        known = self.find(message)
        if known is None:
            return None
        has_trace = known.has_trace or bool(stats.get("rounds"))
        done = replace(known, content=text, finish_reason=finish_reason, stats=stats, has_trace=has_trace)
        self.path = [done if m.id == message else m for m in self.path]
        return done

    def down_to(self, message: int | None) -> list[Message]:
        """The shown branch to a message, itself included; None: nothing."""
        ids = [m.id for m in self.path]
        return self.path[: ids.index(message) + 1] if message is not None else []

    def prompt(self, system: str, draft: str = "", path: Sequence[Message] | None = None) -> list[dict[str, str]]:
        """The messages (None: the shown ones) as the engine gets them, a `draft` that is not sent yet at the end."""
        messages = [{"role": "system", "content": system}] if system else []
        messages += [{"role": m.role, "content": m.content} for m in (self.path if path is None else path) if m.content]
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


def _ask(store: Store, chat: int, parent: int | None, text: str | None) -> list[Message]:
    return store.messages.ask(chat or store.chats.fresh().id, parent, text)


def _step(store: Store, message: int, delta: int) -> int | None:
    family = store.messages.siblings(message)
    index = next(i for i, m in enumerate(family) if m.id == message) + delta
    if not 0 <= index < len(family):
        return None
    store.messages.choose(family[index].id)
    return family[index].id
