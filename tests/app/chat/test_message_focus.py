from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.chat.conversation import ConversationView
from tests.app.chat.chat_help import conversation, settle


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
