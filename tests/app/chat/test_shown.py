from app.chat.shown import ShownMessages
from tests.app.chat.chat_help import conversation, message


def test_a_running_reply_grows_while_another_branch_is_shown() -> None:
    """Its words must all be there when its chat is opened again."""
    shown = ShownMessages()
    shown.replace(conversation(4))
    shown.begin(4)
    assert shown.append(4, "one ")
    shown.replace([message(9, "user")])
    assert not shown.append(4, "two")
    assert shown.running() == [4]
    assert shown.replace(conversation(4)) == []
    assert shown.text_of(4) == ("one two", False)
    shown.update(message(4, text="one two three"))
    shown.end(4)
    assert shown.text_of(4) == ("one two three", True)
    assert shown.live_text(4) is None


def test_what_does_not_run_does_not_grow() -> None:
    """Words that come late, after a reply was stopped, are no part of the stored text."""
    shown = ShownMessages()
    shown.replace(conversation(2))
    assert not shown.append(2, "late")
    shown.begin(2)
    assert not shown.append(2, "")
    assert shown.live_text(2) == ""


def test_messages_that_were_shown_already_are_told() -> None:
    """They keep their widgets and are only told what is new."""
    shown = ShownMessages()
    assert shown.replace(conversation(2)) == []
    assert shown.replace(conversation(3)) == [1, 2]
    assert shown.ids() == [1, 2, 3]


def test_the_newest_of_a_role() -> None:
    """Editing goes to the last prompt, regenerating to the last message if it is a reply."""
    shown = ShownMessages()
    assert shown.newest() is None
    shown.replace(conversation(4))
    assert shown.newest().id == 4
    assert shown.newest("user").id == 3


def test_the_note_stands_above_the_first_message_that_is_read() -> None:
    """And nowhere when all are read, or none could be."""
    shown = ShownMessages()
    shown.replace(conversation(4))
    shown.set_left_out(2)
    assert [key for key in shown.ids() if shown.note(key)] == [3]
    assert "2 messages" in shown.note(3)
    shown.set_left_out(1)
    assert "first message above" in shown.note(2)
    for count in (0, 4):
        shown.set_left_out(count)
        assert not any(shown.note(key) for key in shown.ids())
