"""One check per line of the sheet of keys that is no command of a menu: press the keys, look what came of it.

Run by `test_shortcuts.py`.
"""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit, QWidget
from pytestqt.qtbot import QtBot

from app.chat.message_view import MessageView
from app.main_window import MainWindow
from app.shortcut_sheet import ShortcutSheet
from app.splitter import Border
from app.theme import theme

SHIFT = Qt.KeyboardModifier.ShiftModifier
Check = Callable[[MainWindow, QtBot], None]
CHECKS: dict[tuple[str, str], Check] = {}


def check(title: str, keys: str) -> Callable[[Check], Check]:
    """The decorated function tries what this line of the sheet promises."""

    def keep(call: Check) -> Check:
        CHECKS[title, keys] = call
        return call

    return keep


def idle(window: MainWindow, qtbot: QtBot) -> None:
    """Wait for the end of a reply."""
    qtbot.waitUntil(lambda: not window.turns.running and not window.link.busy, timeout=20000)


def press(widget: QWidget, keys: str) -> None:
    """Press keys as they are written on the sheet, with the focus on a widget."""
    widget.setFocus()
    QTest.keySequence(widget, QKeySequence(keys))


@check("Writing", "Enter")
def _(w: MainWindow, qtbot: QtBot) -> None:
    count = len(w.panels.pane.path)
    w.panels.pane.composer.set_text("More.")
    press(w.panels.pane.composer.input, "Return")
    assert len(w.panels.pane.path) == count + 2
    idle(w, qtbot)


@check("Writing", "Shift+Enter")
def _(w: MainWindow, qtbot: QtBot) -> None:
    w.panels.pane.composer.set_text("a")
    press(w.panels.pane.composer.input, "Shift+Return")
    assert w.panels.pane.composer.text == "a\n"


@check("Writing", "Up in an empty field")
def _(w: MainWindow, qtbot: QtBot) -> None:
    press(w.panels.pane.composer.input, "Up")
    assert w.panels.pane.view.views()[0].editor is not None


@check("Writing", "Esc")
def _(w: MainWindow, qtbot: QtBot) -> None:
    stopped: list[int] = []
    w.panels.pane.composer.stop_requested.connect(lambda: stopped.append(1))
    w.panels.pane.composer.set_busy(True)
    press(w.panels.pane.composer.input, "Escape")
    assert stopped
    w.panels.pane.composer.set_busy(False)


def messages(w: MainWindow) -> list[MessageView]:
    """The messages on screen."""
    return w.panels.pane.view.views()


def focused_message(w: MainWindow) -> QWidget | None:
    """The one with the focus."""
    return next((v for v in messages(w) if v.hasFocus()), None)


@check("Messages", "Alt+Up, Alt+Down")
def _(w: MainWindow, qtbot: QtBot) -> None:
    press(w.panels.pane.composer.input, "Alt+Up")
    assert focused_message(w) is messages(w)[-1]
    press(messages(w)[-1], "Alt+Up")
    assert focused_message(w) is messages(w)[0]
    press(messages(w)[0], "Alt+Down")
    assert focused_message(w) is messages(w)[-1]


@check("Messages", "Left, Right")
def _(w: MainWindow, qtbot: QtBot) -> None:
    assert w.panels.pane.path[-1].version == 2
    press(messages(w)[-1], "Left")
    qtbot.waitUntil(lambda: w.panels.pane.path[-1].version == 1)
    press(messages(w)[-1], "Right")
    qtbot.waitUntil(lambda: w.panels.pane.path[-1].version == 2)


@check("Messages", "C")
def _(w: MainWindow, qtbot: QtBot) -> None:
    press(messages(w)[0], "C")
    assert QGuiApplication.clipboard().text() == "Tell me a story."


@check("Messages", "E")
def _(w: MainWindow, qtbot: QtBot) -> None:
    press(messages(w)[0], "E")
    assert messages(w)[0].editor is not None


@check("Messages", "R")
def _(w: MainWindow, qtbot: QtBot) -> None:
    press(messages(w)[-1], "R")
    assert w.panels.pane.path[-1].version == 3
    idle(w, qtbot)


@check("Messages", "Home, End")
def _(w: MainWindow, qtbot: QtBot) -> None:
    flow = w.panels.pane.view.flow
    theme().set_font_size(22)
    qtbot.waitUntil(lambda: flow.verticalScrollBar().maximum() > 0)
    press(messages(w)[0], "Home")
    assert flow.verticalScrollBar().value() == 0
    assert not flow.following
    press(messages(w)[0], "End")
    assert flow.following


@check("Finding", "Enter, Shift+Enter")
def _(w: MainWindow, qtbot: QtBot) -> None:
    bar = w.panels.pane.view.find_bar
    w.panels.pane.view.open_find()
    bar.field.setText("the")
    first = bar.count.text()
    press(bar.field, "Return")
    second = bar.count.text()
    assert first.startswith("1 of")
    assert second.startswith("2 of")
    press(bar.field, "Shift+Return")
    assert bar.count.text() == first


@check("Finding", "Esc")
def _(w: MainWindow, qtbot: QtBot) -> None:
    w.panels.pane.view.open_find()
    press(w.panels.pane.view.find_bar.field, "Escape")
    assert w.panels.pane.view.find_bar.isHidden()


@check("Chat list", "F2")
def _(w: MainWindow, qtbot: QtBot) -> None:
    w.panels.chats.list.setCurrentRow(0)
    press(w.panels.chats.list, "F2")
    editor = w.focusWidget()
    assert isinstance(editor, QLineEdit)
    QTest.keyClicks(editor, "Heron")
    QTest.keyClick(editor, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: w.store.chats.list()[0].name == "Heron")


@check("Chat list", "Del")
def _(w: MainWindow, qtbot: QtBot) -> None:
    chat = w.store.chats.list()[0].id
    w.panels.chats.list.setCurrentRow(0)
    press(w.panels.chats.list, "Del")
    assert chat not in [c.id for c in w.store.chats.list()]


@check("Chat list", "Ctrl+Z")
def _(w: MainWindow, qtbot: QtBot) -> None:
    chat = w.store.chats.list()[0].id
    w.panels.chats.list.setCurrentRow(0)
    press(w.panels.chats.list, "Del")
    press(w.panels.chats.list, "Ctrl+Z")
    assert chat in [c.id for c in w.store.chats.list()]


@check("Chat list", "Menu, Shift+F10")
def _(w: MainWindow, qtbot: QtBot) -> None:
    """Qt itself turns the Menu key into the event that Shift+F10 sends, where there is a platform."""
    w.panels.chats.list.setCurrentRow(0)
    press(w.panels.chats.list, "Shift+F10")
    menu = QApplication.activePopupWidget()
    assert menu is not None
    assert menu.actions()[0].text().startswith("Rename")
    menu.close()


@check("Chat list", "Down, Enter, Esc")
def _(w: MainWindow, qtbot: QtBot) -> None:
    w.panels.chats.search.setFocus()
    QTest.keyClicks(w.panels.chats.search, "heron")
    press(w.panels.chats.search, "Down")
    assert w.panels.chats.list.hasFocus()
    press(w.panels.chats.search, "Return")
    assert w.panels.chats.list.hasFocus()
    press(w.panels.chats.search, "Escape")
    assert not w.panels.chats.search.text()


@check("Everywhere", "Tab, Shift+Tab")
def _(w: MainWindow, qtbot: QtBot) -> None:
    w.panels.chats.search.setFocus()
    QTest.keyClick(w.panels.chats.search, Qt.Key.Key_Tab)
    assert w.focusWidget() is w.panels.chats.new_button
    QTest.keyClick(w.panels.chats.new_button, Qt.Key.Key_Backtab, SHIFT)
    assert w.focusWidget() is w.panels.chats.search


@check("Everywhere", "?")
def _(w: MainWindow, qtbot: QtBot) -> None:
    w.panels.tree.view.setFocus()
    QTest.keyClicks(w.panels.tree.view, "?")
    (sheet,) = w.findChildren(ShortcutSheet)
    qtbot.waitUntil(sheet.isVisible)
    sheet.close()


@check("Everywhere", "Arrow keys")
def _(w: MainWindow, qtbot: QtBot) -> None:
    border = next(
        b for b in w.findChildren(Border) if b.accessibleName() == "Border between conversation and draft tree"
    )
    before = border.x()
    press(border, "Left")
    assert border.x() < before
