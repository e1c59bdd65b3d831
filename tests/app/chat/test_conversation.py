import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest

from app.chat.conversation import ConversationView
from tests.app.chat.chat_help import conversation, message, settle
from tests.app.counted import paintings


def test_a_running_reply_keeps_its_text_while_another_chat_is_shown(view: ConversationView) -> None:
    """Text for a chat that is not shown goes nowhere else, and is there on return."""
    mine, other = [message(1, "user", "q"), message(2, text="", finish_reason="")], [message(50, "user", "other")]
    view.set_messages(mine)
    view.begin(2)
    view.append_text(2, "first ")
    view.set_messages(other)
    view.append_text(2, "second ")
    settle()
    assert "second" not in view.flow.widget_of(50).text
    view.set_messages(mine)
    view.append_text(2, "third")
    settle()
    assert view.flow.widget_of(2).text == "first second third"
    view.finish(message(2, text="first second third", finish_reason="length"))
    assert "length limit" in view.flow.widget_of(2)._footer.text()


def test_versions_buttons_and_keys(qtbot, view: ConversationView) -> None:
    """‹ 2/3 › by mouse and by arrow keys; regenerate, copy; nothing while a reply is running."""
    view.set_messages([message(1, "user", "q"), message(2, text="a", version=2, versions=3, has_trace=True)])
    settle()
    reply = view.flow.widget_of(2)
    assert reply.header.count.text() == "2/3"
    with qtbot.waitSignal(view.version) as caught:
        reply.header.next_button.click()
    assert caught.args == [2, 1]
    reply.setFocus()
    with qtbot.waitSignal(view.version) as caught:
        QTest.keyClick(reply, Qt.Key.Key_Left)
    assert caught.args == [2, -1]
    with qtbot.waitSignal(view.regenerate) as caught:
        QTest.keyClick(reply, Qt.Key.Key_R)
    assert caught.args == [2]
    with qtbot.waitSignal(view.turn_wanted) as caught:
        reply.header.rounds_button.click()
    QTest.keyClick(reply, Qt.Key.Key_C)
    assert QGuiApplication.clipboard().text() == "a"
    view.set_busy(True)
    with qtbot.assertNotEmitted(view.regenerate, wait=20):
        reply.header.again_button.click()
        QTest.keyClick(reply, Qt.Key.Key_R)
        view.regenerate_last()
    assert "running" in reply.header.again_button.toolTip()


def test_editing_a_prompt(qtbot, view: ConversationView) -> None:
    """The editor holds the prompt; Escape leaves everything; Send says the new text."""
    view.set_messages([message(1, "user", "old text"), message(2)])
    settle()
    prompt = view.flow.widget_of(1)
    prompt.header.edit_button.click()
    assert prompt.editor.input.toPlainText() == "old text"
    assert not prompt.body.isVisible()
    QTest.keyClick(prompt.editor.input, Qt.Key.Key_Escape)
    assert prompt.editor is None
    assert prompt.body.isVisible()
    view.edit_last_prompt()
    prompt.editor.input.setPlainText("  ")
    assert not prompt.editor.send_button.isEnabled()
    prompt.editor.input.setPlainText("new text")
    with qtbot.waitSignal(view.resend) as caught:
        QTest.keyClick(prompt.editor.input, Qt.Key.Key_Return)
    assert caught.args == [1, "new text"]


def test_a_mark_where_the_context_begins(view: ConversationView) -> None:
    """When the oldest turns leave, the place is visible."""
    view.set_messages(conversation(4))
    view.set_dropped(2)
    settle()
    view.flow.place()  # all of them, however slow the machine is
    notes = [w._note.text() for w in view.flow.widgets()]
    assert [bool(n) for n in notes] == [False, False, True, False]
    assert "first 2 messages" in notes[2]
    view.set_dropped(0)
    assert not any(w._note.text() for w in view.flow.widgets())


def test_user_text_is_shown_as_written(view: ConversationView) -> None:
    """A prompt is not Markdown and not HTML."""
    text = "<b>x</b> **y** `z`\n  indented"
    view.set_messages([message(1, "user", text)])
    settle()
    assert view.flow.widget_of(1).body.toPlainText() == text


def test_a_bad_end_is_said(view: ConversationView) -> None:
    """Why a reply is short is written below it; an error in its own words."""
    view.set_messages(
        [
            message(1, "user"),
            message(2, finish_reason="", text="half"),
            message(3, "user"),
            message(4, finish_reason="cancelled"),
            message(5, "user"),
            message(6, finish_reason="error", stats={"error": "It <b>broke</b>."}),
        ]
    )
    settle()
    view.flow.place()
    feet = [view.flow.widget_of(n)._footer.text() for n in (2, 4, 6)]
    assert feet == ["interrupted: Eyrie ended before the reply was complete", "stopped", "It <b>broke</b>."]


def test_a_reply_of_nothing_but_code_is_seen(view: ConversationView) -> None:
    """While it streams, when it is finished, and an empty one: none may shrink to nothing."""
    code = "```py\nx = 1\ny = 2\n```"
    view.set_messages([message(1, "user"), message(2, text=code), message(3, "user"), message(4, text="")])
    settle()
    assert view.view_of(2).height() > view.view_of(2).texts()[0].height() > 30
    assert view.view_of(4).height() >= view.view_of(4).header.copy_button.height()
    view.set_messages([message(1, "user"), message(5, text="", finish_reason="")])
    view.begin(5)
    view.append_text(5, "```py\nx = 1\ny = 2\n")
    settle()
    running = view.view_of(5)
    assert running.height() > running.texts()[0].height() > 30


def test_the_editor_of_a_prompt_is_in_view(view: ConversationView) -> None:
    """Up in the empty field opens an editor that can be seen, above a reply longer than the window."""
    view.activateWindow()
    view.set_messages([message(1, "user", "A question?"), message(2, text="- a line\n" * 60)])
    settle()
    view.edit_last_prompt()
    settle(100)
    editor = view.view_of(1).editor
    assert editor.input.visibleRegion().boundingRect().height() == editor.input.height()
    assert editor.send_button.visibleRegion().boundingRect().height() == editor.send_button.height()


def test_the_editor_fits_into_a_narrow_window(view: ConversationView) -> None:
    """At the width the conversation has beside the tree, every word on the editor's buttons can be read."""
    view.resize(440, 500)
    view.set_messages([message(1, "user", "A question?"), message(2)])
    settle()
    view.edit_last_prompt()
    settle(100)
    editor = view.view_of(1).editor
    for button in (editor.cancel_button, editor.send_button):
        assert button.width() >= button.sizeHint().width()
    assert editor.hint.height() >= editor.hint.heightForWidth(editor.hint.width())


def test_new_words_are_painted_once_and_nothing_else_is(view: ConversationView) -> None:
    """While a reply streams every millisecond of painting is taken from the engine."""
    view.set_messages([message(1, "user", "Why?"), message(2, text="", finish_reason="")])
    view.begin(2)
    view.append_text(2, "A paragraph that is over.\n\nThe last one,\nwhich ")
    settle(300)
    body = view.view_of(2).body
    done, tail = body.blocks()
    painted = paintings(view.view_of(1).body.viewport(), done.viewport(), tail.viewport())
    view.append_text(2, "grows by several lines of words, so that the reply becomes taller. " * 3)
    settle(150)
    assert list(painted.counts.values()) == [0, 0, 1]
    assert tail.height() >= tail.document().size().height()


def test_a_hit_elsewhere_is_looked_for_once(view: ConversationView, monkeypatch: pytest.MonkeyPatch) -> None:
    """Opening a chat at a hit searched all its messages twice and jumped to three of them."""
    view.set_messages(conversation(30, "a needle"))
    jumps: list[int] = []
    show = view.flow.show_item
    monkeypatch.setattr(view.flow, "show_item", lambda key, offset=0: (jumps.append(key), show(key, offset)))
    searched: list[str] = []
    view.find_bar.changed.connect(searched.append)
    view.show_message(10, "needle")
    assert searched == ["needle"]
    assert set(jumps) == {10}
    assert view.find_bar.count.text() == "10 of 30"
