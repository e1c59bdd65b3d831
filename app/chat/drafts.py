"""Texts that are written and not sent, one per chat: the shown one's is in the composer."""

from __future__ import annotations

from app.chat.composer import Composer


class Drafts:
    """`switch` with every change of the shown chat."""

    def __init__(self, composer: Composer) -> None:
        self._composer = composer
        self._away: dict[int, str] = {}  # of chats that are not shown

    def switch(self, old: int, new: int) -> None:
        """Put the text of the shown chat aside and bring the new one's."""
        self._away[old] = self._composer.text
        self._composer.set_text(self._away.pop(new, ""))

    def take(self, text: str, chat: int, shown: bool) -> None:
        """A text was sent from a chat, still shown or not: take it out of what is written there by now."""
        written = self._composer.text if shown else self._away.get(chat, "")
        left = written.lstrip()
        if not left.startswith(text):
            return  # changed meanwhile
        left = left.removeprefix(text).lstrip()
        if shown:
            self._composer.set_text(left)
        else:
            self._away[chat] = left
