"""What a person without a mouse does from one end to the other: leave, save a chart, import a chat, look at a link."""

from __future__ import annotations

import time

import pytest
from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QGuiApplication, QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMessageBox

from app.chat.text_block import TextBlock
from app.store import Store
from app.store.exchange import to_json
from tests.app.window_help import answer, ended, send, shown_texts

ADDRESS = "https://example.org/heron"


@pytest.fixture
def exported(tmp_path):
    """A chat from elsewhere, as a file; its reply holds a link."""
    store = Store(tmp_path / "elsewhere")
    chat = store.chats.new("Birds").id
    prompt = store.messages.add(chat, None, "user", "Where is it?")
    reply = store.messages.add(chat, prompt.id, "assistant")
    store.messages.finish(reply.id, f"See [the heron]({ADDRESS}) there.", "eos")
    path = tmp_path / "birds.json"
    path.write_text(to_json(store, chat), encoding="utf-8")
    store.close()
    return path


def press(key: Qt.Key, modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
    """A key, wherever the focus is."""
    at = QApplication.activePopupWidget() or QApplication.focusWidget() or QApplication.activeWindow()
    QTest.keyClick(at, key, modifiers)


def tab_to(wanted, most: int = 120):
    """Press Tab until the focus is on what is wanted; it."""
    seen = []
    for _ in range(most):
        widget = QApplication.focusWidget()
        if widget is not None and wanted(widget):
            return widget
        seen.append(widget and (widget.accessibleName() or type(widget).__name__))
        press(Qt.Key.Key_Tab)
    raise AssertionError(f"Tab does not get there, but to {seen}")


def has_link(block: TextBlock) -> bool:
    """Whether it is seen and Tab stops at it."""
    return block.isVisible() and block.focusPolicy() == Qt.FocusPolicy.StrongFocus


@pytest.fixture
def active(window, qtbot):
    """The window, in front and in the message field."""
    qtbot.waitUntil(lambda: window.isActiveWindow() and window.focusWidget() is window.panels.pane.composer.input)
    return window


def test_ctrl_q_while_a_reply_streams(active, engine, qtbot):
    """The program ends within a second, whatever it is doing."""
    engine.speed = 0.2
    send(active)
    qtbot.waitUntil(lambda: active.selection.count > 0, timeout=8000)
    began = time.perf_counter()
    QTest.keySequence(active.focusWidget(), QKeySequence("Ctrl+Q"))
    assert not active.isVisible()
    assert active.clean
    assert time.perf_counter() - began < 1


def test_a_chart_is_saved_from_its_menu(active, monkeypatch, tmp_path, qtbot):
    """Tab to the button, Space, an arrow, Enter; the focus is on the button again."""
    send(active)
    qtbot.waitUntil(lambda: ended(active))
    panel = active.panels.plots.panel()
    qtbot.waitUntil(panel.isVisible)
    answer(monkeypatch, "getSaveFileName", tmp_path / "chart.png")
    button = tab_to(lambda widget: widget is panel.header.export_button)
    QTimer.singleShot(50, button, lambda: press(Qt.Key.Key_Down))
    QTimer.singleShot(100, button, lambda: press(Qt.Key.Key_Return))
    press(Qt.Key.Key_Space)  # the menu has an event loop of its own
    qtbot.waitUntil((tmp_path / "chart.png").is_file)
    assert active.focusWidget() is button


def test_a_chat_is_imported_from_the_menu(active, exported, monkeypatch, qtbot):
    """The chat is shown, and the next key is written into its message field."""
    answer(monkeypatch, "getOpenFileName", exported)
    press(Qt.Key.Key_F, Qt.KeyboardModifier.AltModifier)
    press(Qt.Key.Key_I)
    qtbot.waitUntil(lambda: "Where is it?" in shown_texts(active))
    assert active.focusWidget() is active.panels.pane.composer.input


def test_a_link_is_looked_at_and_left(active, exported, qtbot):
    """Its address is shown first, the safe button has the focus, and Escape leads back to the link."""
    active.files.import_file(exported)
    qtbot.waitUntil(lambda: "Where is it?" in shown_texts(active))
    qtbot.waitUntil(lambda: any(map(has_link, active.findChildren(TextBlock))))
    block = tab_to(lambda widget: isinstance(widget, TextBlock))
    press(Qt.Key.Key_Tab)
    assert block.textCursor().selectedText() == "the heron"
    for leave, copied in ((Qt.Key.Key_Escape, ""), (Qt.Key.Key_Return, ADDRESS)):
        QGuiApplication.clipboard().clear()
        block.setFocus()
        press(Qt.Key.Key_Return)
        box = active.findChild(QMessageBox)
        qtbot.waitUntil(box.isActiveWindow)
        assert ADDRESS in box.informativeText().replace("\u200b", "")
        assert box.focusWidget() is box.escapeButton()
        if copied:
            tab_to(lambda widget: "Copy" in getattr(widget, "text", str)(), most=5)
        press(leave)
        qtbot.waitUntil(lambda: active.findChild(QMessageBox) is None)
        active.activateWindow()  # a window manager does
        qtbot.waitUntil(active.isActiveWindow)
        assert active.focusWidget() is block
        assert QGuiApplication.clipboard().text() == copied
