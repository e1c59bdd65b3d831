"""The window without a mouse: where Tab goes, and where the focus is after something was opened, closed or deleted."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from app.engine_link import EngineLink
from app.main_window import MainWindow
from app.store import open_store
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
    wanted = ["Chats", "Conversation", "Message", "Draft tree of the round", "Timeline of rounds", "Acceptance",
              "Acceptance length", "Branches", "More", "Strategy"]  # fmt: skip
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
