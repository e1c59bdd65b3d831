"""What the chat asks the engine for. Plain data."""

from __future__ import annotations

from dataclasses import dataclass, field

from engine import SamplingConfig


@dataclass(frozen=True, slots=True)
class Request:
    """One reply to be made: `messages` is the whole prompt, `message` the stored, still empty reply."""

    chat: int
    message: int
    messages: tuple[dict[str, str], ...]  # role and content; the system prompt first where there is one
    sampling: SamplingConfig = field(default_factory=SamplingConfig)
    max_new_tokens: int = 1024
