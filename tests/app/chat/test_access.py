import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractScrollArea,
    QAbstractSpinBox,
    QApplication,
    QLabel,
    QLineEdit,
    QListWidget,
    QPlainTextEdit,
    QTextEdit,
    QWidget,
)

from app.chat.chat_list import ChatList
from app.chat.flow import ORDER_MS
from app.chat.pane import ChatPane
from app.selection import Selection
from app.store import Store
from app.theme import contrast, theme
from app.writer import Writer
from tests.app.chat.chat_help import settle, view_of

CONTROLS = (QAbstractButton, QLineEdit, QPlainTextEdit, QTextEdit, QAbstractSpinBox, QListWidget)
MARKDOWN = "Text with a [link](https://a.example).\n\n```py\nx = 1\n```\n\nEnd."


@pytest.fixture
def window(qtbot, store: Store, writer: Writer, selection: Selection) -> tuple[QWidget, ChatList, ChatPane]:
    """List, conversation and settings in one window, with a conversation in them."""
    from PySide6.QtWidgets import QHBoxLayout

    chat = store.chats.new()
    prompt = store.messages.add(chat.id, None, "user", "q")
    for _ in range(2):
        reply = store.messages.add(chat.id, prompt.id, "assistant")
        store.messages.finish(reply.id, MARKDOWN, "stop_token", {})
    store.traces.save(reply.id, "{}")
    made = QWidget()
    qtbot.addWidget(made)
    row = QHBoxLayout(made)
    chats, pane = ChatList(store, writer), ChatPane(store, writer, selection)
    for widget in (chats, pane, pane.settings):
        row.addWidget(widget)
    made.resize(1100, 700)
    with qtbot.waitExposed(made):
        made.show()
    made.activateWindow()
    pane.read_chat(chat.id)
    pane.show_chat()
    pane.view.flow.place()
    chats.undo_bar.show()
    pane.view.open_find()
    view_of(pane, prompt.id).edit()
    settle(ORDER_MS + 100)
    return made, chats, pane


def test_every_control_has_a_name(window: tuple[QWidget, ChatList, ChatPane]) -> None:
    """A screen reader says what each control is; buttons say more than a glyph."""
    top, _, _ = window
    nameless = []
    for widget in top.findChildren(QWidget):
        inner = isinstance(widget.parent(), QAbstractSpinBox | QLineEdit) or widget.objectName().startswith("qt_")
        if isinstance(widget, CONTROLS) and not inner and len(widget.accessibleName()) < 3:
            nameless.append(f"{type(widget).__name__} in {type(widget.parent()).__name__}")
    assert not nameless


def test_labels_never_interpret_text(window: tuple[QWidget, ChatList, ChatPane]) -> None:
    """No label that shows foreign words guesses that they are HTML."""
    top, chats, pane = window
    assert chats.undo_bar.label.textFormat() == Qt.TextFormat.PlainText
    for view in pane.view.flow.widgets():
        assert view._footer.textFormat() == Qt.TextFormat.PlainText
        assert view._legend.textFormat() == Qt.TextFormat.PlainText
    assert top.findChildren(QLabel)


def test_tab_reaches_everything_in_reading_order(window: tuple[QWidget, ChatList, ChatPane]) -> None:
    """From the search field through list, messages and composer to the settings, each once, nothing trapped."""
    top, chats, pane = window
    chats.search.setFocus()
    seen: list[QWidget] = []
    for _ in range(120):
        focus = QApplication.focusWidget() or top.focusWidget()
        assert focus is not None
        if focus in seen[:-1]:
            break
        if focus not in seen:  # Tab stays in a text for each of its links
            seen.append(focus)
        QTest.keyClick(focus, Qt.Key.Key_Tab)
    order = [
        chats.search, chats.new_button, chats.list, pane.view.find_bar.field,
        *(v for v in pane.view.flow.widgets()), pane.composer.input, pane.settings.prompt,
        pane.settings.fields["temperature"].widget, pane.settings.fields["stop"].reset_button,
    ]  # fmt: skip
    missing = [w for w in order if w not in seen and w.isEnabled()]
    assert not missing
    places = [seen.index(w) for w in order if w.isEnabled()]
    assert places == sorted(places)
    for view in pane.view.flow.widgets():
        for button in view.header.buttons():
            if button.isVisible() and button.isEnabled():
                assert button in seen


def test_the_focus_can_be_seen(window: tuple[QWidget, ChatList, ChatPane]) -> None:
    """A focused control looks different from the same control without the focus."""
    _, chats, pane = window
    reply = pane.view.flow.widgets()[-1]
    link = next(t for t in reply.texts() if t.focusPolicy() == Qt.FocusPolicy.StrongFocus)
    for widget in (
        reply,
        reply.header.copy_button,
        link,
        pane.composer.button,
        chats.undo_bar.undo_button,
        pane.composer.input,
    ):
        pane.composer.set_text("x")
        pane.settings.prompt.setFocus()
        settle(10)
        before = widget.grab().toImage()
        widget.setFocus(Qt.FocusReason.TabFocusReason)
        settle(10)
        assert widget.grab().toImage() != before


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_words_can_be_read(window: tuple[QWidget, ChatList, ChatPane], mode: str) -> None:
    """4.5:1 for every kind of text on what it stands on."""
    theme().set_mode(mode)  # type: ignore[arg-type]
    for text, ground in (
        ("text", "surface"), ("muted", "surface"), ("text", "accent_soft"), ("muted", "accent_soft"),
        ("text", "code"), ("muted", "code"), ("accent", "surface"), ("warning", "window"), ("muted", "window"),
        ("on_accent", "accent"), ("on_highlight", "highlight"), ("danger", "window"), ("muted", "raised"),
    ):  # fmt: skip
        assert contrast(theme().color(text), theme().color(ground)) >= 4.5, (text, ground)


def test_scroll_areas_are_named(window: tuple[QWidget, ChatList, ChatPane]) -> None:
    """The conversation itself has a name to land on."""
    _, _, pane = window
    assert isinstance(pane.view.flow, QAbstractScrollArea)
    assert pane.view.flow.accessibleName() == "Conversation"
