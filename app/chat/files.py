"""Conversations to and from files, and the dialogs that ask which. Says in one sentence what went wrong."""

from __future__ import annotations

import re
from pathlib import Path

from PySide6.QtWidgets import QFileDialog, QWidget

from app.chat.sampling_panel import check_sampling
from app.save_dialog import ask_where
from app.store import Chat, Store, StoreError
from app.store.columns import one_line
from app.store.exchange import to_json, to_markdown, write_file
from app.store.importing import import_file

LONGEST = 120  # bytes of a suggested name; systems take 255, with what is added to it while it is written
KINDS = {"md": "Markdown (*.md)", "json": "Eyrie conversation (*.json)"}


def file_name(title: str, kind: str) -> str:
    """A name for the file that every system takes."""
    words = " ".join(re.sub(r'[<>:"/\\|?*]+', " ", one_line(title)).split())
    short = words.encode("utf-8")[:LONGEST].decode("utf-8", "ignore").strip(" .…")
    return f"{short or 'chat'}.{kind}"


def export_chat(store: Store, chat: int, path: Path) -> Path:
    """Write a chat as Markdown or JSON, by the extension, which is added when missing. Raises `StoreError`."""
    kind = path.suffix.lower().removeprefix(".")
    if kind not in KINDS:
        path, kind = path.with_name(path.name + ".md"), "md"
    write_file(path, to_json(store, chat) if kind == "json" else to_markdown(store, chat))
    return path


def ask_export(parent: QWidget, title: str, kind: str, folder: Path) -> Path | None:
    """Ask where a chat of that title is to be written, the extension added; None when the user cancelled."""
    suggested = folder / file_name(title, kind)
    return ask_where(parent, "Export the conversation", suggested, KINDS[kind], (f".{kind}",))


def import_chat(store: Store, path: Path) -> Chat:
    """Add the conversation of a JSON export. Raises `StoreError`."""
    if path.suffix.lower() == ".md":
        raise StoreError(f"{path.name} is Markdown, which cannot be imported: export the conversation as JSON.")
    return import_file(store, path, check_sampling)


def ask_import(parent: QWidget, folder: Path) -> Path | None:
    """Ask for a file to import; None when the user cancelled."""
    kinds = f"{KINDS['json']};;All files (*)"
    chosen, _ = QFileDialog.getOpenFileName(parent, "Import a conversation", str(folder), kinds)
    return Path(chosen) if chosen else None
