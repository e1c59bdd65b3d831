"""A conversation as a file: Markdown to read, JSON to keep and (`importing.py`) to bring back, traces left out.

JSON format, version 1: an object with `format` "eyrie-conversation", `version`, `title`, `created`, `updated`,
`system_prompt`, `sampling`, `model`, `active_root` and `messages`, each with `id`, `parent`, `role`, `content`,
`created`, `finish_reason`, `active_child`, `stats`. Ids are the file's own.
"""

from __future__ import annotations

import contextlib
import json
import time
from pathlib import Path

from app.store.errors import StoreError
from app.store.store import Store

FORMAT = "eyrie-conversation"
VERSION = 1


def to_markdown(store: Store, chat: int) -> str:
    """The shown branch as Markdown; the messages' own Markdown stays as it is."""
    record = store.chats.get(chat)
    parts = [f"# {record.name}"]
    made = time.strftime("%Y-%m-%d %H:%M", time.localtime(record.created))
    parts.append(f"*{made}{f', {record.model}' if record.model else ''}*")
    if record.system_prompt:
        parts += ["## System prompt", record.system_prompt]
    for message in store.messages.path(chat):
        parts += ["## You" if message.role == "user" else "## Assistant", message.content or "*(empty)*"]
    return "\n\n".join(parts) + "\n"


def to_json(store: Store, chat: int) -> str:
    """Everything but the traces, every branch included."""
    record = store.chats.get(chat)
    root, children = store.messages.active_children(chat)
    messages = [
        {
            "id": m.id,
            "parent": m.parent,
            "role": m.role,
            "content": m.content,
            "created": m.created,
            "finish_reason": m.finish_reason,
            "active_child": children.get(m.id),
            "stats": m.stats,
        }
        for m in store.messages.tree(chat)
    ]
    keys = ("title", "created", "updated", "system_prompt", "sampling", "model")
    head = {"format": FORMAT, "version": VERSION, **{key: getattr(record, key) for key in keys}, "active_root": root}
    return json.dumps({**head, "messages": messages}, ensure_ascii=False, indent=1) + "\n"


def write_file(path: Path, text: str) -> None:
    """Write an export whole or not at all. Raises `StoreError`."""
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_text(text, encoding="utf-8", newline="\n")
        part.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
        raise StoreError(f"{path.name} could not be written: {error.strerror or error}.") from error
