"""The window without a mouse: where Tab goes, and where the focus is after something was opened, closed or deleted."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractScrollArea,
    QAbstractSlider,
    QAbstractSpinBox,
    QComboBox,
    QLineEdit,
    QMenu,
    QScrollBar,
    QToolButton,
    QWidget,
)

from app.engine_link import EngineLink
from app.main_window import MainWindow
from app.shortcut_sheet import ShortcutSheet
from app.store import open_store
from app.theme import theme
from app.welcome import WelcomePage
from engine import trace_to_json
from tests.app.tab_order import tab_order
from tests.fake_engine import FakeEngine
from tests.fake_turn import fake_turn


@pytest.fixture
def recorded(tmp_path):
    """A recorded run."""
    path = tmp_path / "1-high.json"
    path.write_text(trace_to_json(fake_turn(3, rounds=6)), encoding="utf-8")
    return path


@pytest.fixture
def make(recorded, qtbot, tmp_path):
    """Makes windows over one data folder, with a recorded run to look at; closes them."""
    made: list[MainWindow] = []

    def build() -> MainWindow:
        engine = FakeEngine([fake_turn(3, rounds=6)])
        window = MainWindow(open_store(tmp_path / "data"), EngineLink(lambda: engine), [recorded])
        made.append(window)
        qtbot.addWidget(window)
        window.resize(1280, 800)
        window.show()
        window.activateWindow()
        window.start()
        return window

    yield build
    for window in made:
        window.close()


@pytest.fixture
def window(make, qtbot):
    """A window whose model is loaded, on an empty chat."""
    window = make()
    qtbot.waitUntil(lambda: window.models.state == "ready" and window.panels.pane.chat > 0, timeout=5000)
    return window


def names(widgets: list[QWidget]) -> list[str]:
    """What a screen reader says of them."""
    return [w.accessibleName() or getattr(w, "text", str)() for w in widgets]


def test_the_next_start_begins_in_the_message_field(window, make, qtbot):
    """The window is not active yet when the chat of last time is opened."""
    window.close()
    again = make()
    qtbot.waitUntil(lambda: again.focusWidget() is again.panels.pane.composer.input)


def test_tab_reaches_every_part(window, qtbot):
    """In the order in which they stand: chats, conversation, tree, timeline, plots, sliders, tool bar."""
    panel = window.panels.plots.panel()
    qtbot.waitUntil(panel.isVisible)
    order = names(tab_order(window.panels.chats.search))
    wanted = ["Chats", "Conversation", "Message", "Draft tree of the round", "Timeline of rounds",
              "Chart: Acceptance length", "Acceptance length", "Branches", "More", "Strategy"]  # fmt: skip
    places = [order.index(name) for name in wanted]
    assert places == sorted(places)
    assert sum(name.startswith("Border between") for name in order) == 4
    assert all(order), "a stop of Tab has no name"


def test_focus_follows_the_page(window, recorded, qtbot):
    """A recording opened by key leaves no focus on what is no longer seen, and closing it leads back to the message."""
    window.files.open_trace(recorded)
    qtbot.waitUntil(lambda: window.panels.page is window.panels.recording)
    assert window.panels.recording.isAncestorOf(window.focusWidget())
    window.panels.recording.closed.emit()
    assert window.focusWidget() is window.panels.pane.composer.input


def test_focus_on_the_welcome_page(window):
    """Its first button: Enter opens the first recording."""
    window.actions_["welcome"].trigger()
    assert window.panels.page is window.panels.welcome
    assert isinstance(window.panels.page, WelcomePage)
    assert window.panels.welcome.isAncestorOf(window.focusWidget())


def test_a_chat_can_be_gone_back_to(window, recorded, qtbot):
    """Enter on the chat that was shown before the welcome page or a recording; so does a click."""
    chats, panels = window.panels.chats, window.panels
    window.actions_["welcome"].trigger()
    chats.list.setFocus()
    qtbot.keyClick(chats.list, Qt.Key.Key_Return)
    assert panels.page is panels.pane
    window.files.open_trace(recorded)
    qtbot.waitUntil(lambda: panels.page is panels.recording)
    place = chats.list.visualItemRect(chats.list.currentItem()).center()
    qtbot.mouseClick(chats.list.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert panels.page is panels.pane


def test_commands_act_on_the_page_that_is_seen(window, recorded, qtbot):
    """Find searches the recording; nothing is regenerated or edited in a chat that nobody sees."""
    panels = window.panels
    window.files.open_trace(recorded)
    qtbot.waitUntil(lambda: panels.page is panels.recording)
    qtbot.keySequence(panels.recording.view.flow, QKeySequence.StandardKey.Find)
    assert panels.recording.view.find_bar.isVisible()
    panels.recording.view.find_bar.close_bar()
    window.actions_["find"].trigger()
    assert panels.recording.view.find_bar.isVisible()
    assert panels.pane.view.find_bar.isHidden()
    states = {name: window.actions_[name].isEnabled() for name in ("find", "regenerate", "edit_prompt")}
    assert states == {"find": True, "regenerate": False, "edit_prompt": False}
    window.actions_["welcome"].trigger()
    assert not window.actions_["find"].isEnabled()
    panels.recording.closed.emit()
    assert all(window.actions_[name].isEnabled() for name in states)


def test_text_size_by_key_on_every_page(window, recorded, qtbot):
    """The keys stand on the sheet without an exception."""
    panels, size = window.panels, theme().font_size
    window.actions_["welcome"].trigger()
    qtbot.keyClick(panels.page, Qt.Key.Key_Plus, Qt.KeyboardModifier.ControlModifier)
    assert theme().font_size == size + 1
    window.files.open_trace(recorded)
    qtbot.waitUntil(lambda: panels.page is panels.recording)
    qtbot.keyClick(panels.page, Qt.Key.Key_Minus, Qt.KeyboardModifier.ControlModifier)
    assert theme().font_size == size


def test_a_hidden_part_keeps_no_focus(window):
    """Its command puts the focus on the page; chat settings are shown to be filled in."""
    panels = window.panels
    for name, inside in (("show_chats", panels.chats.list), ("show_tree", panels.tree.timeline)):
        inside.setFocus()
        window.actions_[name].trigger()
        assert not inside.isVisible()
        assert window.focusWidget() is panels.pane.composer.input
    window.actions_["show_chat_settings"].trigger()
    assert window.focusWidget() is panels.pane.settings.prompt


def test_closing_a_message_leads_back(window, qtbot):
    """To the next message, at last to where the focus was; and none leaves while the focus is on it."""
    messages, before = window.panels.messages, window.panels.tree.timeline
    first, second = messages.show_message("One."), messages.show_message("Two.", "error")
    before.setFocus()
    first.close_button.setFocus()
    first.time_out()
    assert first in messages.messages
    qtbot.keyClick(first.close_button, Qt.Key.Key_Space)
    assert window.focusWidget() is second.close_button
    qtbot.keyClick(second.close_button, Qt.Key.Key_Space)
    assert window.focusWidget() is before


def test_closing_the_undo_bar_leads_to_the_list(window, qtbot):
    """Also by Undo: what comes next is done there."""
    chats = window.panels.chats
    for button in (chats.undo_bar.undo_button, chats.undo_bar.close_button):
        chats.list.setFocus()
        qtbot.keyClick(chats.list, Qt.Key.Key_Delete)
        button.setFocus()
        qtbot.keyClick(button, Qt.Key.Key_Space)
        assert chats.undo_bar.isHidden()
        assert window.focusWidget() is chats.list


def test_the_steps_come_behind_their_arrows(window, qtbot):
    """They are made with the first round, long after the rest of the window."""
    panels = window.panels
    panels.pane.composer.set_text("a")
    panels.pane.composer.send()
    qtbot.waitUntil(lambda: not window.turns.running and not window.link.busy, timeout=8000)
    bar = panels.tree.phase_bar
    qtbot.waitUntil(lambda: bool(bar.buttons) and bar.buttons[0].isVisible())
    order = tab_order(panels.tree.view)
    shown = [button for button in bar.buttons if button.isVisible()]
    at = order.index(bar.on)
    assert order[at + 1 : at + 1 + len(shown)] == shown


@pytest.mark.parametrize("part", ["tree", "table"])
def test_no_mark_of_the_keyboard_stays_behind(window, part, qtbot):
    """A walk through the tree lights up the node everywhere, until another round is shown or the focus is elsewhere."""
    panels, selection = window.panels, window.selection
    panels.pane.composer.set_text("a")
    panels.pane.composer.send()
    qtbot.waitUntil(lambda: not window.turns.running and not window.link.busy, timeout=8000)
    panels.tree.header.table_button.click()
    walked = panels.tree.view if part == "tree" else panels.tree.table.view
    selection.go(2)
    walked.setFocus()
    for leave in (lambda: selection.go(3), panels.pane.composer.input.setFocus):
        qtbot.keyClick(walked, Qt.Key.Key_Down if part == "table" else Qt.Key.Key_End)
        assert selection.hovered[0] == selection.round_index
        leave()
        assert selection.hovered == (-1, -1)


def test_tab_shows_whole_fields_behind_more(window, qtbot):
    """There is room for one row of them at 1280 by 800."""
    bar = window.panels.sliders
    bar.more_button.click()
    qtbot.waitUntil(bar.rest.isVisible)
    field = bar.fields["eagle_merge"]
    bar.fields["eagle_lookup"].slider.setFocus()
    for _ in range(3):
        if field.isAncestorOf(window.focusWidget()):
            break
        qtbot.keyClick(window.focusWidget(), Qt.Key.Key_Tab)
    assert window.focusWidget() is field.choice
    seen = field.visibleRegion().boundingRect()
    assert seen.height() >= min(field.height(), bar.rest.viewport().height())


@pytest.mark.parametrize(
    "part", ["tree", "conversation", "chats", "chart", "export", "toggle", "more", "slider", "reset", "close"]
)
def test_the_focus_is_seen(window, part, qtbot):
    """These draw no focus of their own; whoever uses Tab must see where it went."""
    panels = window.panels
    chart = panels.plots.panel()
    qtbot.waitUntil(chart.isVisible)
    widget = {
        "tree": panels.tree.view,
        "conversation": panels.pane.view.flow,
        "chats": panels.chats.list,
        "export": chart.header.export_button,
        "toggle": panels.tree.header.ghosts_button,
        "more": panels.sliders.more_button,
        "slider": panels.sliders.fields["eagle_topk"].slider,
        "reset": panels.sliders.fields["eagle_topk"].reset_button,
        "close": panels.messages.show_message("Saved.").close_button,
        "chart": next(w for w in tab_order(chart.header.export_button) if w.accessibleName() == "Acceptance length"),
    }[part]
    window.settings.set_value("eagle_topk", 7)
    qtbot.wait(1)  # the message's place
    widget.setFocus(Qt.FocusReason.TabFocusReason)
    qtbot.waitUntil(lambda: window.focus_ring.around is widget)
    corner = widget.mapTo(window, widget.rect().topLeft())
    assert window.focus_ring.isVisible()
    assert window.focus_ring.geometry().topLeft() == corner
    image = window.grab().toImage()
    assert image.pixelColor(corner + QPoint(1, widget.height() // 2)) == theme().color("accent")
    panels.pane.composer.input.setFocus()
    assert not window.focus_ring.isVisible()


CONTROLS = (QAbstractButton, QAbstractSlider, QAbstractSpinBox, QComboBox, QLineEdit, QAbstractScrollArea)


def nameless(top: QWidget) -> list[str]:
    """Controls of which a screen reader could say nothing; children of Qt's own controls are Qt's business."""
    found = []
    for w in (top, *top.findChildren(QWidget)):
        inner = isinstance(w.parent(), QAbstractSpinBox | QComboBox | QLineEdit) or w.objectName().startswith("qt_")
        text = w.text() if isinstance(w, QAbstractButton) else ""
        reached = w.focusPolicy() != Qt.FocusPolicy.NoFocus and not isinstance(w, QScrollBar)
        elsewhere = w.window() is not top.window()  # lists of combo boxes, and pyqtgraph's own menus, never shown
        if isinstance(w, CONTROLS) and reached and not inner and not elsewhere and len(w.accessibleName() or text) < 2:
            found.append(f"{type(w).__name__} in {type(w.parent()).__name__}")
    return found


def test_what_is_made_later_has_names_too(window, qtbot):
    """Message tool bars, the find bar, code copy buttons, the table, mask and cache, chat settings, More, edit box."""
    panels = window.panels
    panels.pane.composer.set_text("```python\nprint(1)\n```")
    panels.pane.composer.send()
    qtbot.waitUntil(lambda: not window.turns.running and not window.link.busy, timeout=8000)
    panels.plots.panel()
    for name in ("table", "mask", "kv"):
        getattr(panels.tree.header, f"{name}_button").setChecked(True)
    panels.set_shown("show_chat_settings", True)
    panels.sliders.more_button.click()
    panels.pane.view.open_find()
    panels.pane.view.views()[0].edit()
    assert not nameless(window), "\n".join(nameless(window))


def buttons(window: QWidget) -> list[QToolButton]:
    """Those that may have a menu."""
    return window.findChildren(QToolButton)


def test_dialogs_and_menus_have_names(window, qtbot):
    """The sheet of keys says what it is; no entry of a menu is empty."""
    window.show_shortcuts()
    (sheet,) = window.findChildren(ShortcutSheet)
    qtbot.waitUntil(sheet.isVisible)
    assert nameless(sheet) == []
    assert sheet.windowTitle()
    sheet.close()
    plots = window.panels.plots.panel()
    own = [*window.menuBar().findChildren(QMenu), *(button.menu() for button in buttons(window) if button.menu())]
    assert plots.header.export_button.menu() in own
    actions = [a for menu in own for a in menu.actions() if not a.isSeparator() and a.isVisible()]
    assert actions
    assert all(a.text() for a in actions)
