"""System prompt and sampling of the chats, between their fields and the store.

What was typed last is what is read, also while it is not written yet or where it cannot be.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from app.chat.sampling_panel import SamplingPanel
from app.store import Chat, Store
from app.writer import Writer


class KeptSettings:
    """Keeps what is changed in the panel for the chat that `shown` names (0: none, then nothing is kept).

    `problem` hears one sentence where something could not be written.
    """

    def __init__(
        self,
        panel: SamplingPanel,
        store: Store,
        writer: Writer,
        shown: Callable[[], int],
        problem: Callable[[str], object],
    ) -> None:
        self._writer, self._shown, self._problem = writer, shown, problem
        self._prompts: dict[int, str] = {}  # not written, by chat
        self._sampling: dict[int, dict[str, Any]] = {}
        panel.prompt_changed.connect(partial(self._keep, self._prompts, store.chats.set_system_prompt))
        panel.sampling_changed.connect(partial(self._keep, self._sampling, store.chats.set_sampling))

    def of(self, chat: Chat) -> tuple[str, dict[str, Any]]:
        """System prompt and sampling of a chat that was read."""
        return self._prompts.get(chat.id, chat.system_prompt), self._sampling.get(chat.id, chat.sampling)

    def _keep(self, unwritten: dict[int, Any], write: Callable[[int, Any], None], value: Any) -> None:
        chat = self._shown()
        if chat:
            unwritten[chat] = value
            done = partial(self._written, unwritten, chat, value)
            self._writer.post(partial(write, chat, value), "saving the settings of a chat", done, self._problem)

    def _written(self, unwritten: dict[int, Any], chat: int, value: Any, _: None) -> None:
        if unwritten.get(chat) is value:
            del unwritten[chat]
