"""Things to do with the window, its files, the tree and the plots while a reply streams, for `block_tour`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from unittest.mock import patch

from PySide6.QtCore import QPoint, QSize, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QComboBox, QToolButton

from app.shortcut_sheet import ShortcutSheet
from app.trace_shelf import shipped_traces
from app.view_menu import MODES
from tests.app.tour import SCREEN, Steps, Tour


def menus(t: Tour) -> Steps:
    """Every menu of the bar, and of the toolbar."""
    for action in t.w.menuBar().actions():
        yield from t.popup(partial(t.w.menuBar().setActiveAction, action))
    yield from t.popup(t.w.toolbar.model_button.showMenu)
    for combo in t.w.toolbar.findChildren(QComboBox):
        yield from t.popup(combo.showPopup)
    chats = t.w.panels.chats
    yield from t.popup(lambda: chats._menu(chats.list.item(0), chats.mapToGlobal(QPoint(60, 90))))


def dialog(name: str, t: Tour) -> Steps:
    """A file dialog."""
    yield from t.popup(t.w.actions_[name].trigger)


def sheet(t: Tour) -> Steps:
    """The sheet of keys."""
    yield from t.trigger("shortcuts")
    for found in t.w.findChildren(ShortcutSheet):
        found.close()


def pane(button: str, t: Tour) -> Steps:
    """A pane beside the tree, for a while, and away."""
    found: QToolButton = getattr(t.w.panels.tree.header, f"{button}_button")
    for _ in range(2):
        found.click()
        yield from t.pause(2)


def files(names: tuple[str, ...], t: Tour) -> Steps:
    """Commands that write a file, the dialog answered."""
    for name in names:
        place = t.out / f"{name}.{'json' if name == 'save_trace' else name.rsplit('_')[-1].replace('rounds', 'csv')}"

        def answer(*_: object, place: Path = place) -> Path:
            return place

        with patch("app.file_commands.ask_where", answer), patch("app.chat.files.ask_where", answer):
            t.w.actions_[name].trigger()
        yield place.exists
        yield from t.pause(SCREEN)


def plots(kind: str, t: Tour) -> Steps:
    """Pictures or tables of all charts."""
    for name in t.w.panels.plots.shown:
        with patch("app.file_commands.ask_where", lambda *_, name=name: t.out / f"{name}.{kind}"):
            t.w.files.save_plot(name, kind)
        yield from t.pause(SCREEN)


def colours(mode: str, t: Tour) -> Steps:
    """Dark or light."""
    assert mode in MODES
    t.w.view_menu._set_mode(mode)
    yield from t.pause(SCREEN)


def text_size(t: Tour) -> Steps:
    """Larger, smaller, normal."""
    yield from t.trigger("larger", "smaller", "larger", "normal")


def resize(t: Tour) -> Steps:
    """As dragging a corner does."""
    size = t.w.size()
    for step in (*range(0, 260, 20), *range(260, -1, -20)):
        t.w.resize(QSize(size.width() - step, size.height() - step // 2))
        yield from t.pause(0.03)


def drag(name: str, t: Tour) -> Steps:
    """A splitter, back and forth."""
    splitter = t.w.panels.splitters[name]
    sizes = splitter.sizes()
    for step in (*range(0, 160, 16), *range(160, -1, -16)):
        splitter.setSizes([sizes[0] + step, sizes[1] - step, *sizes[2:]])
        yield from t.pause(0.03)


def recording(t: Tour) -> Steps:
    """A shipped recording, played, and back to the chat."""
    t.w.files.open_trace(shipped_traces()[1], "A recorded run")
    yield lambda: t.w.panels.page is t.w.panels.recording
    yield from t.pause(0.8)
    yield from t.trigger("play")
    yield from t.pause(1)
    t.w.panels.recording.close_button.click()


def timeline(t: Tour) -> Steps:
    """Bars of a turn of 200 rounds."""
    line = t.w.panels.tree.timeline
    for x in (90, 120, 200, 300):
        QTest.mouseClick(line, Qt.MouseButton.LeftButton, pos=QPoint(x, line.height() // 2))
        yield from t.pause(0.15)
    yield from t.key(line, Qt.Key.Key_Home, Qt.Key.Key_End, Qt.Key.Key_PageUp, Qt.Key.Key_Left)


def steps(t: Tour) -> Steps:
    """Through the phases of a round, and to the next rounds."""
    view = t.w.panels.tree.view
    yield from t.trigger("hold")
    yield from t.key(view, *[Qt.Key.Key_Space] * 12, *[Qt.Key.Key_Comma] * 4, *[Qt.Key.Key_Period] * 2, Qt.Key.Key_F)
    yield from t.trigger("live")


def strategy(t: Tour) -> Steps:
    """To plain decoding, and back."""
    combo = t.w.toolbar.strategy
    was = combo.currentIndex()
    for index in (0, was):
        combo.setCurrentIndex(index)
        combo.activated.emit(index)
        yield from t.pause(0.5)


def sliders(t: Tour) -> Steps:
    """Each a step to the right and back."""
    for field in t.w.panels.sliders.fields.values():
        slider = getattr(field, "slider", None)
        if slider is not None and slider.isVisible():
            yield from t.key(slider, Qt.Key.Key_Right, Qt.Key.Key_Left)


def twice(name: str) -> Callable[[Tour], Steps]:
    """A command that switches, and back."""
    return lambda t: t.trigger(name, name)
