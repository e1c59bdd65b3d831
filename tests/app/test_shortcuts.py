"""The sheet of keys tells the truth: what stands on it works, and every key that some part takes stands on it."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QLabel

import app
from app.actions import MENUS, OTHER_KEYS, shortcut_lines
from app.engine_link import EngineLink
from app.main_window import MainWindow
from app.shortcut_sheet import ShortcutSheet
from app.store import open_store
from app.theme import theme
from engine import trace_to_json
from tests.app import tree_key_checks  # noqa: F401  (adds its own)
from tests.app.key_checks import CHECKS, idle, press
from tests.fake_engine import FakeEngine
from tests.fake_turn import fake_turn

COMMANDS = [c for commands in MENUS.values() for c in commands if c.keys]
NAMES = {  # of Qt's keys, as the sheet writes them
    "Return": "Enter", "Escape": "Esc", "Delete": "Del", "Comma": ",", "Period": ".", "PageUp": "Page Up",
    "PageDown": "Page Down", "Plus": "+", "Equal": "+", "Minus": "-", "Question": "?", "Up": "Arrow keys",
    "Down": "Arrow keys",
}  # fmt: skip


@pytest.fixture
def window(qtbot, tmp_path):
    """A window with a prompt, two versions of its reply and their rounds."""
    trace = tmp_path / "1-high.json"
    trace.write_text(trace_to_json(fake_turn(3, rounds=30)), encoding="utf-8")
    engine = FakeEngine([fake_turn(3, rounds=30)])
    made = MainWindow(open_store(tmp_path / "data"), EngineLink(lambda: engine), [trace])
    qtbot.addWidget(made)
    made.resize(1280, 800)
    made.show()
    made.activateWindow()
    made.start()
    qtbot.waitUntil(lambda: made.models.state == "ready" and made.panels.pane.chat > 0, timeout=20000)
    made.panels.pane.composer.set_text("Tell me a story.")
    made.panels.pane.composer.send()
    idle(made, qtbot)
    made.panels.pane.view.regenerate_last()
    idle(made, qtbot)
    made.panels.pane.composer.input.setFocus()
    yield made
    made.close()


def test_keys_of_the_menus(window, qtbot):
    """From the message field: each reaches its command, no second shortcut takes the key, and no field eats it."""
    heard: list[str] = []
    for command in COMMANDS:
        wanted, signals = QKeySequence(command.keys), [window.actions_[command.name].triggered]
        if command.elsewhere:
            found = [s for s in window.findChildren(QShortcut) if wanted in QShortcut.keys(s)]
            signals = [shortcut.activated for shortcut in found if shortcut.parent().isVisible()]
            assert signals, command.name
        for signal in signals:
            signal.disconnect()
            signal.connect(partial(heard.append, command.name))
    field, wrong = window.panels.pane.composer.input, {}
    for command in COMMANDS:
        heard.clear()
        press(field, command.keys)
        if heard != [command.name]:
            wrong[command.name] = list(heard)
    assert wrong == {}


LINES = [(title, keys) for title, lines in OTHER_KEYS.items() for keys, _ in lines]


@pytest.mark.parametrize("line", LINES, ids=[f"{title}: {keys}" for title, keys in LINES])
def test_other_keys(window, line, qtbot):
    """Each does what its line says; a line without a check here is a promise that nobody keeps."""
    CHECKS[line](window, qtbot)


def test_every_key_is_on_the_sheet():
    """A key that some part takes and that no line names would be found by chance only."""
    told = set()
    for lines in shortcut_lines().values():
        for keys, _ in lines:
            told |= {keys, *keys.split(", "), *keys.split("  "), *re.split(r"[, ]+|\+(?=\w)", keys)}
    taken: dict[str, str] = {}
    for file in Path(app.__file__).parent.rglob("*.py"):
        for key in re.findall(r"Qt\.Key\.Key_(\w+)", file.read_text(encoding="utf-8")):
            taken[key] = file.name
    assert taken
    missing = {f"{key} ({file})" for key, file in taken.items() if not {key, NAMES.get(key, key)} & told}
    assert not missing


def test_every_shortcut_is_on_the_sheet(window):
    """Those of Qt's shortcut objects, wherever they were made."""
    told = {QKeySequence(part).toString() for lines in shortcut_lines().values() for keys, _ in lines
            for part in (keys, *keys.split(", "))}  # fmt: skip
    told |= {"Ctrl+="}  # the plus of keyboards where it needs Shift
    made = {keys.toString() for shortcut in window.findChildren(QShortcut) for keys in QShortcut.keys(shortcut)}
    assert made - told - {key.toString() for key in QKeySequence.keyBindings(QKeySequence.StandardKey.ZoomIn)} == set()


def test_one_sheet_with_the_focus(window, qtbot):
    """Asking again shows the same sheet; Esc, ? and F1 close it, and the focus is back where it was."""
    field = window.panels.tree.timeline
    for closing in (Qt.Key.Key_Escape, Qt.Key.Key_Question, Qt.Key.Key_F1):
        field.setFocus()
        window.show_shortcuts()
        window.show_shortcuts()
        (sheet,) = [s for s in window.findChildren(ShortcutSheet) if s.wanted]
        qtbot.waitUntil(sheet.isActiveWindow)
        assert sheet.isAncestorOf(sheet.focusWidget())
        qtbot.keyClick(sheet.focusWidget(), closing)
        qtbot.waitUntil(lambda sheet=sheet: not [s for s in window.findChildren(ShortcutSheet) if s.isVisible()])
        assert window.focusWidget() is field


def test_the_sheet_is_no_larger_than_the_screen(window, qtbot):
    """With the largest text too: the rest is scrolled to."""
    theme().set_font_size(28)
    window.show_shortcuts()
    (sheet,) = window.findChildren(ShortcutSheet)
    qtbot.waitUntil(sheet.isVisible)
    room = window.screen().availableSize()
    assert sheet.width() <= room.width()
    assert sheet.height() <= room.height()
    sheet.close()


def test_the_sheet_is_filled_in_several_turns(window, qtbot):
    """In one it held the window for 53 ms while the default model streamed."""
    window.show_shortcuts()
    (sheet,) = window.findChildren(ShortcutSheet)
    assert sheet.findChildren(QLabel) == []
    filled = set()
    while not sheet.isVisible():
        QCoreApplication.processEvents()
        filled.add(len(sheet.findChildren(QLabel)))
    assert len(filled - {0}) >= 3
    assert max(filled) == sum(2 * len(lines) + 1 for lines in shortcut_lines().values())
    sheet.close()
