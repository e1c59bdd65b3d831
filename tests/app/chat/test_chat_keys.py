"""The chat by keyboard: Escape closes the obvious thing and loses no text, and the focus is where one goes on."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit

from app.chat.chat_list import ChatList
from app.chat.code_block import CodeView
from app.chat.message_view import MessageView
from app.chat.pane import ChatPane
from app.store import Store
from app.writer import Writer
from tests.app.chat.chat_help import Engine, settle, view_of

ESC = Qt.Key.Key_Escape


@pytest.fixture
def chat(qtbot, pane: ChatPane, engine: Engine) -> ChatPane:
    """A prompt and its reply in two versions, the window active."""
    pane.send("Why do herons stand?")
    first = engine.answer("Because they can.")
    view_of(pane, first).regenerate.emit(first)
    engine.answer("Because herons rest.")
    pane.window().activateWindow()
    settle()
    return pane


def prompt(chat: ChatPane) -> MessageView:
    """The first message."""
    return chat.view.views()[0]


def test_escape_in_the_editor_keeps_what_was_typed(chat: ChatPane) -> None:
    """It closes the editor; opened again, the editor has the text, and undo leads back to the sent one."""
    prompt(chat).edit()
    QTest.keyClicks(prompt(chat).editor.input, " And sleep?")
    QTest.keyClick(prompt(chat).editor.input, ESC)
    assert prompt(chat).editor is None
    assert prompt(chat).hasFocus()
    prompt(chat).edit()
    field = prompt(chat).editor.input
    assert field.toPlainText() == "Why do herons stand? And sleep?"
    field.undo()
    assert field.toPlainText() == "Why do herons stand?"


def test_an_edit_outlives_its_widget(chat: ChatPane, store: Store) -> None:
    """Another chat is shown, or the message scrolled away: the next editor has what was typed."""
    here = chat.chat
    prompt(chat).edit()
    QTest.keyClicks(prompt(chat).editor.input, " And sleep?")
    chat.read_chat(store.chats.new().id)
    chat.show_chat()
    settle()
    chat.read_chat(here)
    chat.show_chat()
    settle()
    prompt(chat).edit()
    assert prompt(chat).editor.input.toPlainText().endswith("And sleep?")


def test_a_sent_edit_is_done(chat: ChatPane, engine: Engine) -> None:
    """The old version opens with its own text again; where sending was refused, with the edited one."""
    old = prompt(chat).message.id
    prompt(chat).edit()
    QTest.keyClicks(prompt(chat).editor.input, " And sleep?")
    chat.view.regenerate_last()  # meanwhile another reply runs
    QTest.keyClick(prompt(chat).editor.input, Qt.Key.Key_Return)
    engine.answer("Again.")
    settle()
    prompt(chat).edit()
    assert prompt(chat).editor.input.toPlainText().endswith("And sleep?")
    QTest.keyClick(prompt(chat).editor.input, Qt.Key.Key_Return)
    engine.answer("They do.")
    settle()
    assert prompt(chat).message.id != old
    QTest.keyClick(prompt(chat), Qt.Key.Key_Left)
    settle()
    assert prompt(chat).message.id == old
    prompt(chat).edit()
    assert prompt(chat).editor.input.toPlainText() == "Why do herons stand?"


@pytest.mark.parametrize("place", ["field", "flow", "message", "composer"])
def test_escape_closes_the_search_from_anywhere(chat: ChatPane, place: str) -> None:
    """In the search field, the conversation and the message field, whose text stays."""
    chat.composer.set_text("half a prompt")
    chat.view.open_find()
    chat.view.find_bar.field.setText("herons")
    widget = {
        "field": chat.view.find_bar.field,
        "flow": chat.view.flow,
        "message": prompt(chat),
        "composer": chat.composer.input,
    }[place]
    widget.setFocus()
    QTest.keyClick(widget, ESC)
    assert chat.view.find_bar.isHidden()
    assert chat.composer.text == "half a prompt"
    expected = prompt(chat) if place == "field" else widget  # from the field to the hit
    assert QApplication.focusWidget() is expected


def test_escape_does_one_thing_at_a_time(chat: ChatPane, engine: Engine) -> None:
    """It stops the reply, or closes the editor, and leaves the search for the next time."""
    chat.view.open_find()
    prompt(chat).edit()
    QTest.keyClick(prompt(chat).editor.input, ESC)
    assert prompt(chat).editor is None
    assert chat.view.find_bar.isVisible()
    stopped: list[int] = []
    chat.stop_requested.connect(lambda: stopped.append(1))
    chat.view.regenerate_last()
    chat.composer.input.setFocus()
    QTest.keyClick(chat.composer.input, ESC)
    assert stopped
    assert chat.view.find_bar.isVisible()
    engine.answer("Done.")


def test_a_search_without_a_hit_leads_back(chat: ChatPane) -> None:
    """To where the focus was before."""
    chat.composer.input.setFocus()
    chat.view.open_find()
    chat.view.find_bar.field.setText("pelican")
    QTest.keyClick(chat.view.find_bar.field, ESC)
    assert chat.composer.input.hasFocus()


def test_the_arrows_keep_the_focus(chat: ChatPane) -> None:
    """Space on ‹ shows the version before; with the first one shown the focus is on › of the same message."""
    QTest.keyClick(chat.view.views()[-1].header.previous_button, Qt.Key.Key_Space)
    chat.view.views()[-1].header.next_button.setFocus()
    QTest.keyClick(chat.view.views()[-1].header.next_button, Qt.Key.Key_Space)
    settle()
    assert chat.view.views()[-1].message.version == 2
    assert chat.view.views()[-1].header.previous_button.hasFocus()
    QTest.keyClick(chat.view.views()[-1].header.previous_button, Qt.Key.Key_Space)
    settle()
    assert chat.view.views()[-1].message.version == 1
    assert chat.view.views()[-1].header.next_button.hasFocus()


def test_long_lines_of_code_can_be_reached(pane: ChatPane, engine: Engine) -> None:
    """Tab stops at code that is wider than its place, arrow keys move it sideways, and the focus is seen."""
    pane.send("code")
    engine.answer("```py\nx = 1\n```\n\n```py\n" + "y = " + "1 + " * 200 + "1\n```")
    pane.window().activateWindow()
    settle()
    short, wide = pane.view.views()[-1].findChildren(CodeView)
    assert not short.focusPolicy() & Qt.FocusPolicy.TabFocus
    assert wide.focusPolicy() & Qt.FocusPolicy.TabFocus
    assert wide in pane.view.views()[-1].focus_chain()
    before = wide.grab().toImage()
    wide.setFocus(Qt.FocusReason.TabFocusReason)
    assert wide.grab().toImage() != before
    QTest.keyClick(wide, Qt.Key.Key_End)
    assert wide.horizontalScrollBar().value() > 0
    QTest.keyClick(wide, Qt.Key.Key_Tab)
    assert not wide.hasFocus()


def test_a_new_name_is_not_lost_while_the_list_changes(qtbot, store: Store, writer: Writer) -> None:
    """A reply of another chat ends while a chat is being renamed."""
    first, second = store.chats.new().id, store.chats.new().id
    chats = ChatList(store, writer)
    qtbot.addWidget(chats)
    with qtbot.waitExposed(chats):
        chats.show()
    chats.activateWindow()
    chats.select(second)
    qtbot.waitUntil(chats.isActiveWindow)
    chats.rename()
    editor = chats.list.findChild(QLineEdit)
    assert isinstance(editor, QLineEdit)
    QTest.keyClicks(editor, "Herons")
    store.messages.add(first, None, "user", "the other chat moves to the top")
    chats.refresh()
    chats.select(second)
    assert chats.list.findChild(QLineEdit) is editor
    assert editor.text() == "Herons"
    QTest.keyClick(editor, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: store.chats.get(second).name == "Herons")
