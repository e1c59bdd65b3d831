"""Asks where a file is to be written. Knows nothing of what is in it."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtWidgets import QFileDialog, QWidget


def ask_where(parent: QWidget, title: str, suggested: Path, kinds: str, suffixes: tuple[str, ...]) -> Path | None:
    """A file with one of `suffixes`, the first one added when there is none; None when the user cancelled.

    The dialog asks before it replaces a file, but it knows only the name that was typed: where the name with the
    extension added is taken, it opens again with that name.
    """
    while True:
        chosen, _ = QFileDialog.getSaveFileName(parent, title, str(suggested), kinds)
        if not chosen:
            return None
        path = Path(chosen)
        if path.suffix.lower() in suffixes:
            return path
        suggested = path.with_name(path.name + suffixes[0])
        if not suggested.exists():
            return suggested
