"""The whole window over a fake engine: closing and coming back, its size, its names and keys, and how long it works."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractSlider,
    QAbstractSpinBox,
    QComboBox,
    QLineEdit,
    QMenu,
    QScrollBar,
)

from app.shortcut_sheet import ShortcutSheet
from app.store import Store, open_store
from app.theme import theme
from app.watchdog import Watchdog
from tests.app.window_help import ended, send
from tests.fake_engine import long_turn
from tests.fake_turn import fake_turn


@pytest.mark.alone
def test_closing_during_a_reply_is_quick_and_loses_nothing(make, engine, qtbot, tmp_path):
    """Under a second, thread ended, text kept."""
    engine.speed = 0.1
    window = make(engine)
    qtbot.waitUntil(lambda: window.models.state == "ready" and window.panels.pane.chat > 0)
    send(window)
    qtbot.waitUntil(lambda: window.selection.count >= 2, timeout=15000)
    text = window.selection.turn.text
    began = time.perf_counter()
    window.close()
    assert time.perf_counter() - began < 1
    assert window.clean
    store = Store(tmp_path / "data")
    reply = store.messages.path(store.chats.list()[0].id)[-1]
    store.close()
    assert reply.content.startswith(text)
    assert reply.finish_reason == "cancelled"


def test_next_start_is_as_this_one_ended(make, engine, qtbot):
    """Parts, colours, font, sliders, model and chat come back."""
    window = make(engine)
    qtbot.waitUntil(lambda: window.models.state == "ready" and window.panels.pane.chat > 0)
    send(window)
    qtbot.waitUntil(lambda: ended(window), timeout=8000)
    chat = window.panels.pane.chat
    window.actions_["show_plots"].trigger()
    window.actions_["provenance"].trigger()
    window.view_menu._set_mode("dark")
    theme().set_font_size(12)
    window.settings.set_value("eagle_depth", 7)
    window.player.set_pace(50)
    header = window.panels.tree.header
    for button in (header.ghosts_button, header.table_button, header.kv_button):
        button.click()
    window.panels.tree.across.setSizes([200, 400])
    shares = window.panels.tree.across.sizes()
    window.close()
    theme().set_mode("system")
    theme().set_font_size(10)
    again = make(engine)
    qtbot.waitUntil(lambda: again.models.state == "ready")
    assert theme().dark
    assert theme().font_size == 12
    assert not again.panels.is_shown("show_plots")
    assert not again.actions_["show_plots"].isChecked()
    assert again.panels.pane.view.provenance
    assert again.settings.config.eagle_depth == 7
    assert again.toolbar.pace.currentData() == 50
    assert again.panels.pane.chat == chat
    tree = again.panels.tree
    assert tree.header.options() == {"pruned": True, "table": True, "mask": False, "kv": True, "top_down": False}
    assert tree.view.ghosts
    assert (tree.table.isVisible(), tree.kv_strip.isVisible(), tree.mask_pane.isVisible()) == (True, True, False)
    assert tree.across.sizes() == pytest.approx(shares, abs=10)
    qtbot.waitUntil(lambda: again.selection.count == 12)


def test_damaged_layout_is_ignored(make, engine, qtbot, tmp_path):
    """A file edited by hand must not keep the window from opening."""
    store = open_store(tmp_path / "data")
    store.settings.set("window.layout", {"geometry": "%%%", "shown": 3, "tree": [], "plots": {"a": 1}, "font": "x"})
    store.close()
    window = make(engine)
    assert window.isVisible()
    window.close()
    store = open_store(tmp_path / "data")
    store.settings.set("window.layout", {"tree": {"table": "yes", "kv": 1, "nonsense": True}, "pace": [], "mode": {}})
    store.close()
    window = make(engine)
    assert window.isVisible()
    assert not any(window.panels.tree.header.options().values())


def test_fits_a_small_screen(window):
    """1280×720 is the least that laptops have."""
    hint = window.minimumSizeHint()
    assert hint.width() <= 1280
    assert hint.height() <= 740
    window.panels.sliders.more_button.click()
    assert window.minimumSizeHint().height() <= 800


@pytest.mark.parametrize(("width", "height"), [(1024, 600), (1093, 614)])
def test_everything_is_reached_in_a_low_window(window, qtbot, width, height):
    """1280×800 and 1366×768 at 125 %: with two rows of settings the window was 100 pixels higher than the screen."""
    sliders, right = window.panels.sliders, window.panels.right_area
    sliders.more_button.click()
    window.resize(width, height)
    theme().set_font_size(12)
    qtbot.waitUntil(lambda: (window.width(), window.height()) == (width, height))
    qtbot.wait(50)
    for field in sliders.fields.values():
        rows = sliders.main if sliders.main.isAncestorOf(field) else sliders.rest
        rows.ensureWidgetVisible(field, 0, 0)
        assert rows.viewport().rect().contains(field.geometry().translated(field.parentWidget().pos())), field.key
    for part in (window.panels.tree.header, window.panels.tree.timeline, window.panels.plots):
        right.ensureWidgetVisible(part, 0, 0)
        corner = part.mapTo(right.viewport(), part.rect().bottomRight())
        assert right.viewport().rect().contains(corner) or part.height() > right.viewport().height(), part
    for part in (sliders, window.panels.status, right, window.panels.middle):
        assert window.panels.rect().contains(part.mapTo(window.panels, part.rect().bottomRight())), part


def test_sliders_have_all_their_rows_where_there_is_room(window, qtbot):
    """Only a low window scrolls them."""
    for size, scrolled in (((1024, 800), False), ((1024, 600), True), ((1024, 800), False)):
        window.resize(*size)
        qtbot.waitUntil(lambda s=scrolled: window.panels.sliders.main.verticalScrollBar().isVisible() == s)


def test_every_control_has_a_name(window):
    """For screen readers; children of Qt's own widgets are Qt's business."""
    kinds = (QAbstractButton, QAbstractSlider, QAbstractSpinBox, QComboBox, QLineEdit)
    nameless = [
        f"{w} in {w.parent()}"
        for kind in kinds
        for w in window.findChildren(kind)
        if not w.accessibleName()
        and not (isinstance(w, QAbstractButton) and len(w.text()) > 1)
        and not isinstance(w.parent(), QAbstractSpinBox | QComboBox | QLineEdit)
        and not isinstance(w, QScrollBar)
        and not w.objectName().startswith("qt_")
        and not isinstance(w.window(), QMenu)  # pyqtgraph's own, never shown
    ]
    assert not nameless


def test_shortcut_keys_are_unambiguous(window):
    """Two commands on one key: neither would work."""
    keys = [window.actions_[name].shortcut().toString() for name in window.actions_.names()]
    keys = [key for key in keys if key]
    assert len(keys) == len(set(keys))


def test_shortcut_sheet_opens_and_closes(window, qtbot, qapp):
    """? shows it, Esc closes it."""
    window.show_shortcuts()
    (sheet,) = [w for w in qapp.topLevelWidgets() if isinstance(w, ShortcutSheet)]
    qtbot.waitUntil(sheet.isVisible)
    qtbot.keyClick(sheet, Qt.Key.Key_Escape)
    assert not sheet.isVisible()


@pytest.mark.alone
def test_main_thread_never_works_long_at_a_stretch(window, engine, qtbot):
    """50 ms is the promise while a reply streams. What the machine's other programs take is not ours to test."""
    engine.speed = 1.0
    engine.sessions[-1]._next = iter([long_turn(fake_turn(3, rounds=40), 120)])
    window.panels.plots.panel()
    qtbot.wait(300)
    dog = Watchdog()
    send(window)
    qtbot.waitUntil(lambda: window.selection.count >= 1, timeout=8000)
    dog.start()
    qtbot.waitUntil(lambda: window.selection.count >= 115, timeout=20000)
    dog.stop()
    assert dog.longest_cpu_ms < 50, dog.report()
    qtbot.waitUntil(lambda: ended(window), timeout=20000)


def test_open_file_of_the_command_line(window, traces, qtbot):
    """`replay FILE` uses the same road as the menu."""
    window.files.open_trace(Path(traces[0]))
    qtbot.waitUntil(lambda: window.panels.page is window.panels.recording)
    assert "1 high" in window.panels.recording.title.text() or "1-high" in window.panels.recording.title.text()


def test_system_prompt_and_sampling_are_whole_at_any_text_size(window, qtbot):
    """Their column keeps its width by itself: at larger text the reset buttons would stand behind the scroll bar."""
    window.panels.set_shown("show_chat_settings", True)
    for size in (14.0, 18.0, 9.0):
        theme().set_font_size(size)
        qtbot.wait(50)
        panel, area = window.panels.pane.settings, window.panels.chat_settings
        qtbot.waitUntil(lambda p=panel, a=area: p.minimumSizeHint().width() <= a.viewport().width())
