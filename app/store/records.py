"""What the store hands out: immutable rows. Knows no SQL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from app.store.columns import one_line

ROLES = ("user", "assistant")
UNTITLED = "New chat"


@dataclass(frozen=True, slots=True)
class Chat:
    """One conversation as listed. Times are Unix seconds."""

    id: int
    title: str  # "" until the first message gives it one
    created: float
    updated: float
    system_prompt: str
    sampling: dict[str, Any]  # only what differs from the defaults
    model: str

    @property
    def name(self) -> str:
        """Title to show."""
        return self.title or UNTITLED


@dataclass(frozen=True, slots=True)
class Message:
    """One message of the tree, and its place among its versions (siblings: same parent)."""

    id: int
    chat: int
    parent: int | None
    role: str  # one of ROLES
    content: str
    created: float
    finish_reason: str  # "" for an assistant message that is running, or was when the program ended
    stats: dict[str, Any]
    version: int = 1  # from 1
    versions: int = 1
    has_trace: bool = False

    @property
    def finished(self) -> bool:
        """Whether nothing will be added to it."""
        return self.role != "assistant" or bool(self.finish_reason)


@dataclass(frozen=True, slots=True)
class Hit:
    """One message, or a title (message 0), that holds the searched words."""

    chat: int
    title: str
    message: int
    role: str
    excerpt: str  # one line around the first match
    start: int  # of the match in the excerpt, in characters
    length: int


def title_from(text: str, limit: int = 60) -> str:
    """A title: the first line that says something, cut at a word."""
    line = next((plain for line in text.splitlines() if (plain := one_line(line))), "")
    if len(line) <= limit:
        return line
    cut = line[:limit].rsplit(" ", 1)[0] if " " in line[limit // 2 : limit] else line[:limit]
    return cut.rstrip(" ,.;:") + "…"
