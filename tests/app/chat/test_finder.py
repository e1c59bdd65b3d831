from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.chat.conversation import ConversationView
from tests.app.chat.chat_help import conversation, message, settle


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
