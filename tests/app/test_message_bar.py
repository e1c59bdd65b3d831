"""Messages: readable, actionable, bounded, never modal, never interpreted."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QLabel

from app import message_bar
from app.message_bar import MessageBar


@pytest.fixture
def bar(qtbot):
    """An empty, shown bar."""
    bar = MessageBar()
    qtbot.addWidget(bar)
    return bar


def test_empty_bar_takes_no_room(bar):
    """The conversation must not jump for nothing."""
    assert bar.isHidden()
    message = bar.show_message("Hello")
    assert not bar.isHidden()
    message.leave()
    assert bar.isHidden()


def test_action_runs_once_and_closes(bar, qtbot):
    """Undo twice would be a bug of its own."""
    done = []
    message = bar.show_message("Chat deleted.", actions=[("Undo", lambda: done.append(1))])
    qtbot.mouseClick(message.buttons["Undo"], Qt.MouseButton.LeftButton)
    assert done == [1]
    assert bar.messages == []


def test_text_is_not_interpreted(bar):
    """A file name or a server's answer may hold HTML."""
    message = bar.show_message("<img src='file:///etc/passwd'><b>x</b>")
    formats = [w.textFormat() for w in message.findChildren(QLabel) if "img" in w.text()]
    assert formats == [Qt.TextFormat.PlainText]


def test_same_key_replaces(bar):
    """A retry that fails again must not stack up."""
    bar.show_message("Try 1 failed.", "error", key="fetch")
    bar.show_message("Try 2 failed.", "error", key="fetch")
    assert [m.text for m in bar.messages] == ["Try 2 failed."]
    bar.dismiss("fetch")
    assert bar.messages == []


def test_errors_outlive_infos(bar):
    """At most three, and what matters stays longest."""
    bar.show_message("Bad.", "error")
    for i in range(4):
        bar.show_message(f"News {i}.")
    assert [m.text for m in bar.messages] == ["Bad.", "News 2.", "News 3."]


def test_info_leaves_by_itself_error_stays(bar, qtbot, monkeypatch):
    """Nobody should have to close good news; nobody should miss bad news."""
    monkeypatch.setattr(message_bar, "STAY_MS", 20)
    bar.show_message("Bad.", "error")
    bar.show_message("Good.")
    qtbot.waitUntil(lambda: [m.text for m in bar.messages] == ["Bad."])


def test_details_fold_and_copy(bar, qtbot, qapp):
    """A traceback is there for the report, but not in the user's face."""
    message = bar.show_message("Broken.", "error", detail="Traceback …")
    assert message.detail.isHidden()
    qtbot.mouseClick(message.buttons["Details"], Qt.MouseButton.LeftButton)
    assert not message.detail.isHidden()
    qtbot.mouseClick(message.buttons["Copy"], Qt.MouseButton.LeftButton)
    assert qapp.clipboard().text() == "Broken.\n\nTraceback …"


def test_every_button_has_a_name(bar):
    """Screen readers read names, not crosses."""
    message = bar.show_message("x", actions=[("Retry", lambda: None)], detail="y")
    for button in message.findChildren(QAbstractButton):
        assert button.accessibleName() or len(button.text()) > 1
