import itertools
import time

import pytest
from PySide6.QtCore import QEvent, QObject, QPoint, QPointF, Qt
from PySide6.QtGui import QGuiApplication, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from app.chat.conversation import ConversationView
from app.chat.flow_items import MOST_ALIVE
from app.selection import Selection
from tests.app.chat.chat_help import conversation, message, settle


@pytest.fixture
def view(qtbot, selection: Selection) -> ConversationView:
    """A shown conversation, empty."""
    made = ConversationView(selection)
    qtbot.addWidget(made)
    made.resize(640, 500)
    made.show()
    qtbot.waitExposed(made)
    return made


def wheel(view: ConversationView, up: int) -> None:
    """Turn the wheel over the conversation."""
    centre = QPointF(view.flow.viewport().rect().center())
    event = QWheelEvent(
        centre, view.flow.viewport().mapToGlobal(centre), QPoint(), QPoint(0, up),
        Qt.MouseButton.NoButton, Qt.KeyboardModifier.NoModifier, Qt.ScrollPhase.NoScrollPhase, False,
    )  # fmt: skip
    QApplication.sendEvent(view.flow.viewport(), event)


def wheel_at(target: QWidget, up: int) -> None:
    """Turn the wheel over a widget: as the system's own event it goes up from parent to parent until one takes it."""
    centre = QPointF(target.rect().center())
    at: QWidget | None = target
    while at is not None:
        event = QWheelEvent(
            centre, target.mapToGlobal(centre), QPoint(), QPoint(0, up),
            Qt.MouseButton.NoButton, Qt.KeyboardModifier.NoModifier, Qt.ScrollPhase.NoScrollPhase, False,
        )  # fmt: skip
        if QApplication.sendEvent(at, event) and event.isAccepted():
            break
        at = at.parentWidget()


def at_end(view: ConversationView) -> bool:
    """Whether the end is in view."""
    bar = view.flow.verticalScrollBar()
    return bar.value() >= bar.maximum() - 4


def test_messages_stand_below_each_other_as_tall_as_they_are(view: ConversationView) -> None:
    """No overlap, no gap, no text cut off, at two widths."""
    view.set_messages(conversation(6))
    for width in (640, 420):
        view.resize(width, 500)
        settle()
        view.flow.place()  # where the machine is busy some may still wait for their turn
        shown = [w for w in view.flow.widgets() if w.isVisible()]
        assert len(shown) >= 3
        for above, below in itertools.pairwise(shown):
            assert 0 < below.y() - (above.y() + above.height()) <= 16
        for widget in shown:
            assert widget.height() == widget.heightForWidth(widget.width())


def test_the_end_is_followed_only_when_it_was_in_view(view: ConversationView) -> None:
    """Scrolling up while text arrives holds still; the pill leads back and following goes on."""
    view.set_messages([*conversation(20), message(21, "user", "q"), message(22, text="", finish_reason="")])
    view.begin(22)
    settle()
    for _ in range(10):
        view.append_text(22, "many words in a line\n\n")
    settle()
    assert at_end(view)
    assert view.overlay.pill.isHidden()
    wheel(view, 240)
    settle()
    before = view.flow.verticalScrollBar().value()
    assert not at_end(view)
    for _ in range(10):
        view.append_text(22, "many words in a line\n\n")
        settle(5)
    assert view.flow.verticalScrollBar().value() == before
    assert view.overlay.pill.isVisible()
    view.overlay.pill.click()
    settle()
    assert at_end(view)
    assert view.overlay.pill.isHidden()
    view.append_text(22, "more\n\n" * 5)
    settle()
    assert at_end(view)


def test_the_wheel_scrolls_the_conversation_over_text_and_code(view: ConversationView) -> None:
    """Text and code inside messages do not swallow the wheel."""
    view.set_messages(conversation(30, "Words.\n\n```py\nx = 1\n```\n\nMore words."))
    settle(300)
    for kind in ("TextBlock", "CodeView"):
        shown = [t for w in view.flow.widgets() if w.isVisible() for t in w.texts() if type(t).__name__ == kind]
        target = shown[-1].viewport()
        before = target.mapTo(view, QPoint()).y()  # not the scroll bar: heights above become exact meanwhile
        wheel_at(target, 120)
        settle()
        assert target.mapTo(view, QPoint()).y() > before


def test_scrolling_back_to_the_end_follows_again(view: ConversationView) -> None:
    """The wheel and the End key count like the pill."""
    view.set_messages(conversation(20))
    settle()
    for back in (lambda: wheel(view, -100_000), lambda: QTest.keyClick(view.flow, Qt.Key.Key_End)):
        wheel(view, 480)
        settle()
        assert not view.flow.following
        back()
        settle()
        assert view.flow.following
        assert at_end(view)


def test_what_is_read_stays_in_place_while_heights_become_exact(view: ConversationView) -> None:
    """Going up through messages whose height was guessed must not make the text jump."""
    view.set_messages(conversation(120, "Words. " * 60))
    settle()
    for _ in range(25):
        top = next(
            w
            for w in view.flow.widgets()
            if w.isVisible() and w.y() + w.height() > view.flow.verticalScrollBar().value()
        )
        before = top.y() - view.flow.verticalScrollBar().value()
        value = view.flow.verticalScrollBar().value()
        wheel(view, 120)
        settle(1)
        if value == 0:
            break
        after = top.y() - view.flow.verticalScrollBar().value()
        assert 0 < after - before <= 400


def test_500_messages_stay_smooth(view: ConversationView) -> None:
    """Opening, scrolling and streaming in a chat of 500 messages; only what is near the view exists.

    Processor time of this thread, so that a loaded machine does not fail it.
    """
    text = "A paragraph of **words** that goes on for a while. " * 6 + "\n\n```python\nx = 1\n```\n\n- one\n- two"
    start = time.thread_time()
    view.set_messages(conversation(500, text))
    opened = time.thread_time() - start
    settle()
    assert len(view.flow.widgets()) <= MOST_ALIVE
    steps = []
    for _ in range(60):
        start = time.thread_time()
        wheel(view, 240)
        QApplication.processEvents()
        steps.append(time.thread_time() - start)
        settle(16)
    view.show_end()
    view.begin(500)
    ticks = []
    for n in range(60):
        start = time.thread_time()
        view.append_text(500, f"word {n} of the stream\n" + ("\n" if n % 7 == 0 else ""))
        QApplication.processEvents()
        ticks.append(time.thread_time() - start)
    start = time.thread_time()
    view.resize(500, 500)
    QApplication.processEvents()
    resized = time.thread_time() - start
    numbers = {
        "open": opened, "scroll": sorted(steps)[30], "scroll max": max(steps), "tick": sorted(ticks)[30],
        "tick max": max(ticks), "resize": resized,
    }  # fmt: skip
    print("500 messages, ms:", {k: round(v * 1000, 1) for k, v in numbers.items()})
    assert len(view.flow.widgets()) <= MOST_ALIVE + 10
    assert opened < 0.5
    assert sorted(steps)[30] < 0.05
    assert sorted(ticks)[30] < 0.05
    assert resized < 0.5


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


def test_find_marks_counts_and_moves(view: ConversationView) -> None:
    """Hits over the whole conversation, also far from the view; Enter goes on, Shift+Enter back, Escape ends."""
    view.set_messages(conversation(80, "Needle here"))
    settle()
    view.open_find()
    QTest.keyClicks(view.find_bar.field, "nEEdle")
    assert view.find_bar.count.text() == "1 of 80"
    settle()
    first = view.flow.widget_of(1)
    assert first.isVisible()
    assert [len(t.extraSelections()) for t in first.texts()] == [1]
    QTest.keyClick(view.find_bar.field, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    settle()
    assert view.find_bar.count.text() == "80 of 80"
    assert view.flow.widget_of(80).isVisible()
    QTest.keyClicks(view.find_bar.field, "xyz")
    assert view.find_bar.count.text() == "no hits"
    QTest.keyClick(view.find_bar.field, Qt.Key.Key_Escape)
    assert view.find_bar.isHidden()
    assert all(not t.extraSelections() for w in view.flow.widgets() for t in w.texts())


def test_find_in_code(view: ConversationView) -> None:
    """Words in code are found and marked like any others."""
    view.set_messages([message(1, text="none\n\n```py\nneedle = 1\n```\nneedle")])
    settle()
    view.open_find()
    view.find_bar.field.setText("needle")
    assert view.find_bar.count.text() == "1 of 2"
    assert [len(t.extraSelections()) for t in view.flow.widget_of(1).texts()] == [0, 1, 1]


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


def test_alt_arrows_walk_the_messages(view: ConversationView) -> None:
    """Every message can be reached without a mouse, also those that do not exist yet."""
    view.activateWindow()
    view.set_messages(conversation(60))
    settle()
    view.flow.setFocus()
    seen = []
    for _ in range(60):
        QTest.keyClick(view.window().focusWidget() or view, Qt.Key.Key_Up, Qt.KeyboardModifier.AltModifier)
        focus = view.window().focusWidget()
        seen.append(focus.message.id)
        assert focus.visibleRegion().boundingRect().height() > 0
    assert seen == list(range(60, 0, -1))


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


class Painted(QObject):
    """Counts how often widgets are painted."""

    def __init__(self, widgets: list[QWidget]) -> None:
        super().__init__()
        self.counts = dict.fromkeys(widgets, 0)
        for widget in widgets:
            widget.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802
        """Only look."""
        if event.type() == QEvent.Type.Paint:
            self.counts[watched] += 1  # type: ignore[index]
        return False


def test_new_words_are_painted_once_and_nothing_else_is(view: ConversationView) -> None:
    """While a reply streams every millisecond of painting is taken from the engine."""
    view.set_messages([message(1, "user", "Why?"), message(2, text="", finish_reason="")])
    view.begin(2)
    view.append_text(2, "A paragraph that is over.\n\nThe last one,\nwhich ")
    settle(300)
    body = view.view_of(2).body
    done, tail = body.blocks()
    painted = Painted([view.view_of(1).body.viewport(), done.viewport(), tail.viewport()])
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
