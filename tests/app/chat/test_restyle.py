"""A conversation takes another look in steps, and then looks as one that was made in it."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import pytest
from PySide6.QtWidgets import QLabel, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from app.chat.conversation import ConversationView
from app.chat.message_view import MessageView
from app.selection import Selection
from app.theme import FONT_SIZE_DEFAULT, theme
from tests.app.chat.chat_help import message

TEXTS = ("A prompt", "**Words**, a [link](https://example.org) and\n\n```python\nprint(1)\n```\n", "Another", "Short.")


def shown(qtbot: QtBot) -> ConversationView:
    """A conversation on the screen."""
    view = ConversationView(Selection())
    qtbot.addWidget(view)
    view.resize(700, 900)
    view.show()
    view.set_messages([message(n + 1, "assistant" if n % 2 else "user", text) for n, text in enumerate(TEXTS)])
    qtbot.waitUntil(lambda: len(view.views()) == len(TEXTS))
    return view


def looks(view: ConversationView) -> list[object]:
    """What a look decides of every part, and its size."""
    found: list[object] = []
    for made in view.views():
        for widget in [made, *made.findChildren(QWidget)]:
            if isinstance(widget, QLabel | QPushButton | MessageView) and widget.isVisible():
                color = widget.palette().color(widget.foregroundRole()).name()
                found.append((type(widget).__name__, widget.font().pointSizeF(), color, widget.size().toTuple()))
    return found


@pytest.mark.parametrize(("mode", "size"), [("dark", FONT_SIZE_DEFAULT), ("light", 14.0), ("dark", 8.0)])
def test_it_looks_as_one_made_in_the_new_look(qtbot: QtBot, mode: str, size: float) -> None:
    """Where the sheet is not set again, fonts stay as they were; what is told in steps must hear of all."""
    view = shown(qtbot)
    before = looks(view)
    theme().set_mode(mode)  # type: ignore[arg-type]
    theme().set_font_size(size)
    qtbot.waitUntil(lambda: len(view.views()) == len(TEXTS))
    qtbot.wait(50)
    assert looks(view) != before
    assert looks(view) == looks(shown(qtbot))


def test_every_block_of_a_message_is_a_step(qtbot: QtBot) -> None:
    """A long reply on the screen held the window for 20 ms when the size of its text changed."""
    view = ConversationView(Selection())
    qtbot.addWidget(view)
    view.resize(700, 900)
    view.show()
    view.set_messages([message(1, text="\n\n".join(["Words.", "```python\n1\n```"] * 5))])
    qtbot.waitUntil(lambda: len(view.views()) == 1)
    blocks = view.views()[0].body.blocks()
    done: list[QWidget] = []
    for block in blocks:
        block.restyle = partial(done.append, block)
    counts = [0, *(len(done) for _ in view.restyle())]
    assert done == blocks
    assert len(blocks) == 10
    assert max(after - before for before, after in pairwise(counts)) == 1
