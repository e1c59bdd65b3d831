"""What a user may do while a reply streams, as a list of actions for `block_tour`. Measures nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from unittest.mock import patch

from PySide6.QtCore import QPoint, QSize, Qt, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QComboBox, QToolButton, QWidget

from app.main_window import MainWindow
from app.shortcut_sheet import ShortcutSheet
from app.trace_shelf import shipped_traces
from app.view_menu import MODES
from tests.app.real_window import Wait
from tests.app.tour_folder import LONG, conversation

SCREEN = 0.25  # seconds between two things that a person does one after the other
PLAIN, SHIFT = Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.ShiftModifier
Steps = Iterator[Wait]


@dataclass(frozen=True)
class Tour:
    """The window, a folder to write to, and the chats."""

    w: MainWindow
    out: Path
    ids: dict[str, int]

    def pause(self, seconds: float) -> Steps:
        """Let the event loop run."""
        until = time.monotonic() + seconds
        yield lambda: time.monotonic() >= until

    def open(self, chat: str) -> Steps:
        """Show a chat."""
        self.w.panels.chats.select(self.ids[chat])
        self.w.pages.open_chat(self.ids[chat])
        yield from self.pause(SCREEN)

    def trigger(self, *names: str) -> Steps:
        """Commands of the menus, one after the other."""
        for name in names:
            QTimer.singleShot(0, self.w.actions_[name].trigger)
            yield from self.pause(SCREEN)

    def popup(self, show: Callable[[], object]) -> Steps:
        """Open something that stands over the window, and close it."""
        QTimer.singleShot(0, show)  # it may run an event loop of its own
        yield over
        yield from self.pause(SCREEN)
        widget = over()
        if widget is not None:
            widget.close()
        yield from self.pause(SCREEN)

    def key(self, widget: QWidget, *keys: Qt.Key, shift: bool = False) -> Steps:
        """Press keys, one per turn of the event loop."""
        widget.setFocus()
        for key in keys:
            QTest.keyClick(widget, key, SHIFT if shift else PLAIN)
            yield from self.pause(0.06)


@dataclass(frozen=True)
class Action:
    """Something to do; `chat`: where a reply streams meanwhile, in view when it begins ("": whatever is)."""

    name: str
    do: Callable[[Tour], Steps]
    chat: str = "plain"
    prepare: Callable[[Tour], Steps] | None = None


def over() -> QWidget | None:
    """What stands over the window."""
    return QApplication.activePopupWidget() or QApplication.activeModalWidget()


def nothing(t: Tour) -> Steps:
    """The reply alone."""
    yield from t.pause(3)


def send(t: Tour) -> Steps:
    """Stop, and ask again."""
    t.w.turns.stop()
    yield lambda: not t.w.turns.running and not t.w.link.busy
    t.w.panels.pane.send("Tell it again.")
    yield lambda: t.w.turns.turn is not None and len(t.w.turns.turn.rounds) > 5


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


def scroll(t: Tour) -> Steps:
    """By wheel, by page, to both ends."""
    flow = t.w.panels.pane.view.flow
    bar = flow.verticalScrollBar()
    for _ in range(12):
        bar.setValue(bar.value() - bar.pageStep())
        yield from t.pause(0.06)
    for value in (0, bar.maximum() // 2, bar.maximum() // 3, bar.maximum()):
        bar.setValue(value)
        yield from t.pause(SCREEN)


def find(t: Tour) -> Steps:
    """Words that are in every reply, letter by letter, and on to the next hits."""
    yield from t.trigger("find")
    view = t.w.panels.pane.view
    for letter in "a needle":
        QTest.keyClicks(view.find_bar.field, letter)
        yield from t.pause(0.08)
    yield from t.key(view.find_bar.field, *[Qt.Key.Key_Return] * 3)
    yield from t.key(view.find_bar.field, Qt.Key.Key_Return, shift=True)
    view.find_bar.close_bar()


def search(words: str, t: Tour) -> Steps:
    """Over all chats, and into a hit."""
    chats = t.w.panels.chats
    yield from t.trigger("search_chats")
    for letter in words:
        QTest.keyClicks(chats.search, letter)
        yield from t.pause(0.2)
    yield from t.pause(1)
    if chats.list.count():
        chats._activated(chats.list.item(min(3, chats.list.count() - 1)))
    yield from t.pause(SCREEN)
    chats.search.clear()


def import_chat(t: Tour) -> Steps:
    """A conversation file of 500 messages."""
    path = t.out / "long.json"
    before = t.w.panels.pane.chat
    t.w.files.import_file(path)
    yield lambda: t.w.panels.pane.chat not in (0, before)


def write_long(t: Tour) -> Steps:
    """What `import_chat` reads."""
    (t.out / "long.json").write_text(conversation("Imported", LONG))
    yield lambda: True


def delete(t: Tour) -> Steps:
    """The chat of 500 messages that is in view, and undo."""
    chats = t.w.panels.chats
    yield from t.open("long")
    yield from t.pause(SCREEN)
    chats.delete()
    yield from t.pause(0.8)
    chats.undo_delete()


def other_chats(t: Tour) -> Steps:
    """Away from the streaming chat and back."""
    for chat in ("long", "rounds", "plain", "long", "plain"):
        yield from t.open(chat)
        yield from t.pause(0.5)


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


def typing(t: Tour) -> Steps:
    """The next prompt, and a long one pasted."""
    field = t.w.panels.pane.composer.input
    field.setFocus()
    for letter in "What next?":
        QTest.keyClicks(field, letter)
        yield from t.pause(0.05)
    field.insertPlainText("A long prompt. " * 3000)
    yield from t.pause(SCREEN)
    field.clear()


def rename(t: Tour) -> Steps:
    """A chat, and a copy of one."""
    chats = t.w.panels.chats
    yield from t.open("rounds")
    chats.rename()
    yield from t.pause(SCREEN)
    chats.list.currentItem().setText("Renamed")
    yield from t.pause(SCREEN)
    chats.duplicate()


def twice(name: str) -> Callable[[Tour], Steps]:
    """A command that switches, and back."""
    return lambda t: t.trigger(name, name)


ACTIONS = [
    Action("a prompt sent at once", send, ""),
    Action("nothing but the reply", nothing),
    Action("stop, and another prompt", send),
    Action("a new chat, another prompt", lambda t: t.trigger("new_chat")),
    Action("typing, and pasting 45,000 letters", typing),
    Action("sampling panel, there and away", twice("show_chat_settings")),
    Action("sliders, away and back", twice("show_sliders")),
    Action("plots, away and back", twice("show_plots")),
    Action("tree, away and back", twice("show_tree")),
    Action("chats, away and back", twice("show_chats")),
    Action("the sheet of keys", sheet),
    Action("all menus", menus),
    Action("dialog to open a file", partial(dialog, "open_trace")),
    Action("dialog to save a file", partial(dialog, "export_md")),
    Action("table twin", partial(pane, "table")),
    Action("mask grid", partial(pane, "mask")),
    Action("KV strip", partial(pane, "kv")),
    Action("pruned candidates", partial(pane, "ghosts")),
    Action("strategy", strategy),
    Action("sliders, each one step", sliders),
    Action("steps, rounds, fit", steps),
    Action("timeline, bars and keys", timeline),
    Action("timeline of 200 rounds, not streaming", timeline, "", lambda t: t.open("rounds")),
    Action("tree as PNG and SVG, trace, rounds", partial(files, ("tree_png", "tree_svg", "save_trace", "save_rounds"))),
    Action("plots as PNG", partial(plots, "png")),
    Action("plots as CSV", partial(plots, "csv")),
    Action("origin of tokens", twice("provenance")),
    Action("dark", partial(colours, "dark")),
    Action("light", partial(colours, "light")),
    Action("text size", text_size),
    Action("window's size", resize),
    Action("full screen", twice("full_screen")),
    Action("border between chat and tree", partial(drag, "across")),
    Action("border between tree and plots", partial(drag, "right")),
    Action("to other chats and back", other_chats),
    Action("renamed, and duplicated", rename),
    Action("search over all chats, rare word", partial(search, "circle 499")),
    Action("search over all chats, common word", partial(search, "needle")),
    Action("a shipped recording, played, closed", recording),
    Action("500 messages: scrolling", scroll, "long"),
    Action("500 messages: find", find, "long"),
    Action("500 messages: origin of tokens", twice("provenance"), "long"),
    Action("500 messages: dark", partial(colours, "dark"), "long"),
    Action("500 messages: light", partial(colours, "light"), "long"),
    Action("500 messages: text size", text_size, "long"),
    Action("500 messages: window's size", resize, "long"),
    Action("500 messages: another prompt", send, "long"),
    Action("500 messages: as Markdown and JSON", partial(files, ("export_md", "export_json")), "long"),
    Action("500 messages: imported", import_chat, "plain", write_long),
    Action("500 messages: deleted, and undone", delete),
]
