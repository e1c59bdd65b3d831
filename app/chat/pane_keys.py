"""The keys of the chat pane that are no entry of a menu."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QWidget

from app.chat.composer import Composer
from app.chat.conversation import ConversationView
from app.theme import FONT_SIZE_DEFAULT, theme


def bind(pane: QWidget, view: ConversationView, composer: Composer) -> None:
    """Search, text size, regenerate, edit; Alt+Up leads from the field to the messages."""
    bind_zoom(pane)
    composer.escaped.connect(view.finder.close)
    for keys, call in (
        (QKeySequence.StandardKey.Find, view.open_find),
        ("Ctrl+R", view.regenerate_last),
        ("Ctrl+E", view.edit_last_prompt),
    ):
        shortcut = QShortcut(QKeySequence(keys), pane)
        shortcut.activated.connect(call)
    leave = QShortcut(QKeySequence("Alt+Up"), composer, context=Qt.ShortcutContext.WidgetWithChildrenShortcut)
    leave.activated.connect(lambda: view.focus.step(-1))


def bind_zoom(page: QWidget) -> None:
    """Text size, while this page of the window is seen."""
    for keys, step in (
        (QKeySequence.StandardKey.ZoomIn, 1),
        ("Ctrl+=", 1),
        (QKeySequence.StandardKey.ZoomOut, -1),
        ("Ctrl+0", 0),
    ):
        QShortcut(QKeySequence(keys), page).activated.connect(partial(zoom, step))


def zoom(step: int) -> None:
    """Change the text size by a point, or back to the normal size (0)."""
    theme().set_font_size(theme().font_size + step if step else FONT_SIZE_DEFAULT)
