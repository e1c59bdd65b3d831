import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.chat.pane import ChatPane
from app.store import Store, StoreError
from app.theme import FONT_SIZE_DEFAULT, theme
from tests.app.chat.chat_help import Engine, settle, view_of
from tests.fake_turn import fake_turn


def contents(pane: ChatPane, store: Store) -> list[str]:
    """The shown branch as stored; what is on screen must be the same."""
    path = store.messages.path(pane.chat)
    assert pane.view.shown.ids() == [m.id for m in path]
    return [m.content for m in path]


def test_send_stream_finish(qtbot, pane: ChatPane, engine: Engine, store: Store) -> None:
    """A prompt goes to the store and to the engine, the reply comes back; the composer is free again."""
    pane.settings.prompt.setPlainText("Be brief.")
    pane.settings.fields["temperature"].set_value(0.5)
    pane.settings.fields["max_new_tokens"].set_value(77)
    pane.composer.set_text("Why do herons stand?")
    QTest.keyClick(pane.composer.input, Qt.Key.Key_Return)
    (request,) = engine.requests
    assert request.messages == (
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Why do herons stand?"},
    )
    assert (request.sampling.temperature, request.max_new_tokens) == (0.5, 77)
    assert pane.composer.text == ""
    assert pane.running is request
    engine.answer("Because they can.", stats={"tokens": 4})
    settle()
    assert contents(pane, store) == ["Why do herons stand?", "Because they can."]
    assert pane.running is None
    assert store.chats.get(pane.chat).title == "Why do herons stand?"
    assert store.chats.get(pane.chat).system_prompt == "Be brief."
    assert store.chats.get(pane.chat).sampling == {"temperature": 0.5, "max_new_tokens": 77}
    pane.send("And then?")
    assert [m["content"] for m in engine.requests[-1].messages] == [
        "Be brief.", "Why do herons stand?", "Because they can.", "And then?",
    ]  # fmt: skip


def test_regenerate_edit_and_versions(pane: ChatPane, engine: Engine, store: Store) -> None:
    """Every version stays and can be shown again, with what followed it."""
    pane.send("q1")
    first = engine.answer("a1")
    pane.send("q2")
    engine.answer("a2")
    view_of(pane, first).regenerate.emit(first)
    assert [m["content"] for m in engine.requests[-1].messages] == ["q1"]
    again = engine.answer("a1 again")
    assert contents(pane, store) == ["q1", "a1 again"]
    settle()
    assert view_of(pane, again).header.count.text() == "2/2"
    view_of(pane, again).header.previous_button.click()
    assert contents(pane, store) == ["q1", "a1", "q2", "a2"]
    prompt = pane.view.shown.ids()[2]
    pane.resend(prompt, "q2 edited")
    assert [m["content"] for m in engine.requests[-1].messages] == ["q1", "a1", "q2 edited"]
    engine.answer("a2 edited")
    assert contents(pane, store) == ["q1", "a1", "q2 edited", "a2 edited"]
    pane.resend(pane.view.shown.ids()[0], "q1 edited")
    engine.answer("other")
    assert contents(pane, store) == ["q1 edited", "other"]
    settle()
    view_of(pane, pane.view.shown.ids()[0]).header.previous_button.click()
    assert contents(pane, store) == ["q1", "a1", "q2 edited", "a2 edited"]
    assert len(store.messages.tree(pane.chat)) == 9


def test_only_one_reply_at_a_time(pane: ChatPane, engine: Engine, store: Store) -> None:
    """While a reply runs, no other is asked for, whatever is pressed; the draft stays."""
    pane.send("q1")
    pane.composer.set_text("q2")
    pane.composer.send()
    pane.send("q3")
    pane.regenerate(pane.view.shown.ids()[-1])
    pane.resend(pane.view.shown.ids()[0], "edited")
    assert len(engine.requests) == 1
    assert pane.composer.text == "q2"
    assert len(store.messages.tree(pane.chat)) == 2


def test_switching_chats_while_a_reply_runs(pane: ChatPane, engine: Engine, store: Store) -> None:
    """The reply goes on in its own chat; drafts stay with their chats; busy is seen everywhere."""
    first = pane.chat
    pane.send("q1")
    running = engine.requests[-1].message
    pane.view.append_text(running, "half ")
    other = store.chats.new("other").id
    pane.read_chat(other)
    pane.show_chat()
    pane.composer.set_text("draft for later")
    pane.view.append_text(running, "more")
    assert pane.view.shown.ids() == []
    pane.read_chat(first)
    pane.show_chat()
    settle()
    assert view_of(pane, running).text == "half more"
    assert pane.composer.text == ""
    pane.read_chat(other)
    pane.show_chat()
    assert pane.composer.text == "draft for later"
    store.messages.finish(running, "half more", "length", {})
    pane.finished(running, "length", {}, "half more")
    assert pane.running is None
    pane.read_chat(first)
    pane.show_chat()
    settle()
    assert view_of(pane, running).text == "half more"
    assert not view_of(pane, running).running


def test_a_reply_that_fails_before_its_first_word(pane: ChatPane, engine: Engine) -> None:
    """The reason stands where the reply would be, and Regenerate is offered."""
    pane.send("q")
    message = engine.answer("", "error", {"error": "The model folder is gone: open another one."})
    settle()
    view = view_of(pane, message)
    assert view._footer.text() == "The model folder is gone: open another one."
    assert view.header.again_button.isVisible()
    view.header.again_button.click()
    assert len(engine.requests) == 2


def test_up_in_an_empty_field_edits_the_last_prompt(pane: ChatPane, engine: Engine) -> None:
    """The quick way to mend a prompt; with text in the field Up is a cursor key."""
    pane.send("q1")
    engine.answer("a1")
    settle()
    prompt = view_of(pane, pane.view.shown.ids()[0])
    pane.composer.set_text("x")
    QTest.keyClick(pane.composer.input, Qt.Key.Key_Up)
    assert prompt.editor is None
    pane.composer.set_text("")
    QTest.keyClick(pane.composer.input, Qt.Key.Key_Up)
    assert prompt.editor is not None


def test_store_errors_keep_the_text(
    qtbot, pane: ChatPane, store: Store, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was written is not lost because the disk is full."""

    def full(*_: object, **__: object) -> None:
        raise StoreError("The disk is full.")

    monkeypatch.setattr(store.messages, "ask", full)
    pane.composer.set_text("precious words")
    with qtbot.waitSignal(pane.problem) as caught:
        pane.composer.send()
    assert caught.args == ["The disk is full."]
    assert pane.composer.text == "precious words"
    assert engine.requests == []
    assert pane.running is None


def test_counting_is_asked_with_everything_that_would_be_sent(qtbot, pane: ChatPane, engine: Engine) -> None:
    """System prompt, the shown branch and the draft; the answer goes to the meter."""
    pane.settings.prompt.setPlainText("Be brief.")
    pane.settings.flush()
    pane.send("q1")
    engine.answer("a1")
    with qtbot.waitSignal(pane.count_requested) as caught:
        QTest.keyClicks(pane.composer.input, "draft")
    assert [m["content"] for m in caught.args[0]] == ["Be brief.", "q1", "a1", "draft"]
    pane.set_context_count(10, 100)
    assert pane.composer.meter.used == 10


def test_left_out_messages_are_marked(pane: ChatPane, engine: Engine) -> None:
    """The marker stands where the model begins to read, live and after opening the chat again."""
    for n in range(3):
        pane.send(f"q{n}")
        engine.answer(f"a{n}", stats={"dropped_messages": 0 if n < 2 else 2})
    pane.read_chat(pane.chat)
    pane.show_chat()
    settle()
    notes = [bool(view_of(pane, m)._note.text()) for m in pane.view.shown.ids()]
    assert notes == [False, False, True, False, False, False]
    pane.send("q3")
    turn = fake_turn(1, rounds=1)
    from dataclasses import replace

    turn.start = replace(turn.start, dropped_messages=4)
    pane.started(engine.requests[-1].message, turn)
    settle()
    assert [bool(view_of(pane, m)._note.text()) for m in pane.view.shown.ids()].index(True) == 4


def test_a_search_hit_in_another_branch_is_shown(pane: ChatPane, engine: Engine, store: Store) -> None:
    """Opening at a message brings its branch back, scrolls there and marks the words."""
    pane.send("q1")
    engine.answer("the needle")
    hidden = pane.view.shown.ids()[-1]
    pane.regenerate(hidden)
    engine.answer("nothing")
    hit = store.chats.search("needle")[0]
    store.messages.reveal(hit.message)
    pane.read_chat(hit.chat)
    pane.show_chat(hit.message)
    pane.show_words(hit.message, "needle")
    settle()
    assert hidden in pane.view.shown.ids()
    assert pane.view.find_bar.count.text() == "1 of 1"


def test_font_size_keys(pane: ChatPane, engine: Engine) -> None:
    """Ctrl +, Ctrl - and Ctrl 0; text, code and the field follow."""
    pane.activateWindow()
    pane.send("q")
    reply = engine.answer("Some words.\n\n```py\nx = 1\n```")
    settle()
    words, code = view_of(pane, reply).texts()
    sizes = [w.font().pointSizeF() for w in (words, code, pane.composer.input)]
    heights = [words.height(), code.height()]
    QTest.keyClick(pane.composer.input, Qt.Key.Key_Plus, Qt.KeyboardModifier.ControlModifier)
    QTest.keyClick(pane.composer.input, Qt.Key.Key_Equal, Qt.KeyboardModifier.ControlModifier)
    assert theme().font_size == FONT_SIZE_DEFAULT + 2
    settle()
    after = [w.font().pointSizeF() for w in (words, code, pane.composer.input)]
    assert all(new > old + 1.5 for new, old in zip(after, sizes, strict=True))
    assert words.height() > heights[0]
    assert code.height() > heights[1]
    QTest.keyClick(pane.composer.input, Qt.Key.Key_Minus, Qt.KeyboardModifier.ControlModifier)
    assert theme().font_size == FONT_SIZE_DEFAULT + 1
    QTest.keyClick(pane.composer.input, Qt.Key.Key_0, Qt.KeyboardModifier.ControlModifier)
    assert theme().font_size == FONT_SIZE_DEFAULT


def test_versions_by_keyboard(pane: ChatPane, engine: Engine) -> None:
    """← and → go through the versions one after the other: the focus goes with them."""
    pane.activateWindow()
    pane.send("q1")
    last = engine.answer("a1")
    for n in (2, 3):
        pane.regenerate(last)
        last = engine.answer(f"a{n}")
    settle()
    view_of(pane, last).setFocus()
    seen = []
    for key in (Qt.Key.Key_Left, Qt.Key.Key_Left, Qt.Key.Key_Right):
        QTest.keyClick(pane.focusWidget(), key)
        settle()
        seen.append(pane.focusWidget().message.content)
    assert seen == ["a2", "a1", "a2"]
    view_of(pane, pane.view.shown.ids()[-1]).header.next_button.setFocus()
    QTest.keyClick(pane.focusWidget(), Qt.Key.Key_Space)
    settle()
    assert view_of(pane, last).isAncestorOf(pane.focusWidget())


def test_the_rounds_beside_the_chat_are_of_the_shown_version(
    qtbot, pane: ChatPane, engine: Engine, store: Store
) -> None:
    """Another version on the left and the old one's tree on the right would contradict each other."""
    pane.send("q1")
    first = engine.answer("a1")
    store.traces.save(first, "{}")
    pane.regenerate(first)
    again = engine.answer("a2")
    settle()
    with qtbot.waitSignal(pane.turn_wanted) as caught:
        view_of(pane, again).header.previous_button.click()
    assert caught.args == [first]


def test_alt_up_leads_from_the_field_to_the_messages(pane: ChatPane, engine: Engine) -> None:
    """The way to the newest reply for those who have just written."""
    pane.activateWindow()
    pane.send("q1")
    reply = engine.answer("a1")
    settle()
    pane.composer.input.setFocus()
    QTest.keyClick(pane.composer.input, Qt.Key.Key_Up, Qt.KeyboardModifier.AltModifier)
    assert pane.focusWidget() is view_of(pane, reply)
