import itertools
import time

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from app.chat.conversation import ConversationView
from app.chat.flow_items import MOST_ALIVE
from tests.app.chat.chat_help import conversation, message, settle


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


@pytest.mark.alone
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
