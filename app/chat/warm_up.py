"""Loads, in another thread, what the first reply will need: parsers of Markdown and code. 50 to 80 ms, or the first
chat that is opened would hold the window for so long.
"""

from __future__ import annotations

from PySide6.QtCore import QThreadPool

from app.chat.highlight import language_name, lexer_for
from app.chat.markdown import blocks


def warm_up() -> None:
    """Begin; harmless when all is loaded already."""
    QThreadPool.globalInstance().start(_load)


def _load() -> None:
    blocks("words")
    lexer_for("python")
    language_name("python")
