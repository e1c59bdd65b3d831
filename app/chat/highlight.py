"""Colours of code, by Pygments, which is loaded with the first code. Knows languages and formats, no widget."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QThreadPool
from PySide6.QtGui import QColor, QFont, QTextCharFormat, QTextCursor, QTextDocument

from app.chat.utf16 import units
from app.theme import contrast, theme

if TYPE_CHECKING:
    from pygments.lexer import Lexer
    from pygments.style import Style
    from pygments.token import _TokenType

LARGEST = 200_000  # characters; longer code stays plain, colouring it would hold the window
READABLE = 4.5  # contrast ratio


@lru_cache(maxsize=64)
def lexer_for(language: str) -> Lexer | None:
    """The lexer of a language name as written after a fence; None for none or an unknown one."""
    if not language:
        return None
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    try:
        return get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


def prepare(language: str) -> None:
    """Load the lexer of a language in another thread: it is not needed before the code is complete, and takes up to
    30 ms the first time."""
    if language:
        QThreadPool.globalInstance().start(partial(lexer_for, language))


def language_name(language: str) -> str:
    """The name to show: "Python" for "py", the word itself where it is not known. Loads no lexer."""
    return _names().get(language.lower(), language)


@lru_cache(maxsize=1)
def _names() -> dict[str, str]:
    from pygments.lexers import get_all_lexers

    return {alias.lower(): name for name, aliases, _, _ in get_all_lexers(plugins=False) for alias in aliases}


def colour(document: QTextDocument, language: str) -> None:
    """Set the formats of a document that holds code; the text stays as it is."""
    from pygments.token import Token

    cursor = QTextCursor(document)
    cursor.beginEditBlock()
    cursor.select(QTextCursor.SelectionType.Document)
    cursor.setCharFormat(_format(Token, theme().dark))
    text = document.toPlainText()
    dark = theme().dark
    for start, end, kind in _pieces(text, language) if len(text) <= LARGEST else ():
        cursor.setPosition(start)
        cursor.setPosition(end, QTextCursor.MoveMode.KeepAnchor)
        cursor.setCharFormat(_format(kind, dark))
    cursor.endEditBlock()


@lru_cache(maxsize=8)
def _pieces(text: str, language: str) -> list[tuple[int, int, _TokenType]]:
    """Start, end and kind of everything but space, as QTextDocument counts. The last few are kept: other colours do not
    change them."""
    lexer = lexer_for(language)
    if lexer is None:
        return []
    places = units(text) or range(len(text) + 1)
    at, found = 0, []
    for kind, piece in lexer.get_tokens(text):
        if piece.strip():
            found.append((places[at], places[at + len(piece)], kind))
        at += len(piece)
    return found


@lru_cache(maxsize=2)
def _style(dark: bool) -> type[Style]:
    from pygments.styles import get_style_by_name

    return get_style_by_name("github-dark" if dark else "xcode")


@lru_cache(maxsize=1024)
def _format(kind: _TokenType, dark: bool) -> QTextCharFormat:
    style = _style(dark).style_for_token(kind)
    made = QTextCharFormat()
    color = QColor(f"#{style['color']}") if style["color"] else theme().color("text")
    made.setForeground(readable(color, theme().color("code")))
    if style["bold"]:
        made.setFontWeight(QFont.Weight.Bold)
    made.setFontItalic(bool(style["italic"]))
    return made


def readable(color: QColor, background: QColor) -> QColor:
    """The colour, moved away from the background until it can be read."""
    darker = background.lightnessF() > 0.5
    for _ in range(20):
        if contrast(color, background) >= READABLE:
            break
        color = color.darker(112) if darker else color.lighter(112)
    return color
