import time

import pytest

from app.chat import look
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


@pytest.mark.parametrize(("size", "width"), [(10, 345), (10, 246), (14, 376), (16, 340)])
def test_no_word_is_cut_in_a_narrow_line(header: MessageHeader, size: float, width: int) -> None:
    """A narrow window or a larger text leaves whole things out; half a word helps nobody, and names stay whole."""
    theme().set_font_size(size)
    header.setStyleSheet(look.conversation(theme()))
    header.restyle()
    header.resize(width, 30)
    settle()
    shown = [w for w in (header.who, header.time, header.count, *header.buttons()) if w.isVisible()]
    assert {header.copy_button, header.again_button, header.count} <= set(shown)
    for widget in shown:
        assert widget.width() >= widget.sizeHint().width()
    assert header.again_button.accessibleName().startswith("Regenerate: ")
    header.resize(1000, 30)
    settle()
    assert header.again_button.text() == "Regenerate"
    assert header.who.isVisible()
    assert header.time.isVisible()


def test_a_recording_names_no_time(qtbot) -> None:
    """It does not say when it was made; 00:00 would be a lie."""
    reply = message(2, created=0.0)
    header = MessageHeader(reply)
    qtbot.addWidget(header)
    header.show_state(reply, running=False)
    assert {button.accessibleName() for button in header.buttons()} >= {"Copy: Assistant", "Next version: Assistant"}
