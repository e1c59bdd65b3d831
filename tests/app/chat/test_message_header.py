import time

import pytest

from app.chat.message_header import MessageHeader
from app.theme import theme
from tests.app.chat.chat_help import message, settle


@pytest.fixture
def header(qtbot) -> MessageHeader:
    """The line above a reply that has rounds and versions."""
    reply = message(2, versions=3, version=2, has_trace=True)
    made = MessageHeader(reply)
    qtbot.addWidget(made)
    made.show_state(reply, running=False)
    made.restyle()
    made.resize(700, made.sizeHint().height())
    made.show()
    return made


def test_the_time_goes_before_anything_is_cut(header: MessageHeader) -> None:
    """At any width that holds who and the buttons, and at larger text, every word can be read."""
    assert header.time.isVisible()
    assert time.strftime("%Y") in header.who.toolTip()
    for size in (10, 16):
        theme().set_font_size(size)
        header.restyle()
        shown = [header.who, header.count, *(b for b in header.buttons() if not b.isHidden())]
        header.time.show()
        header.resize(header.minimumSizeHint().width() - header.time.sizeHint().width(), 30)
        settle()
        assert not header.time.isVisible()
        for widget in shown:
            assert widget.width() >= widget.minimumSizeHint().width()
        header.resize(2000, 30)
        settle()
        assert header.time.isVisible()
