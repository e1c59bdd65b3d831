"""Things to do with chats while a reply streams, for `block_tour`."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from engine import SamplingConfig
from tests.app.tour import SCREEN, Steps, Tour
from tests.app.tour_folder import LONG, conversation


def begin(t: Tour) -> Steps:
    """The first reply, while the plots are still being loaded."""
    w = t.w
    yield lambda: w.models.state == "ready" and not w.link.busy
    w.settings.set_sampling(SamplingConfig())
    w.settings.set_config(w.settings.config.with_(max_new_tokens=600))
    w.panels.pane.send("Tell me a story.")
    yield lambda: w.selection.count > 20 and w.panels.plots._panel is not None


def nothing(t: Tour) -> Steps:
    """The reply alone."""
    yield from t.pause(3)


def send(t: Tour) -> Steps:
    """Stop, and ask again."""
    t.w.turns.stop()
    yield lambda: not t.w.turns.running and not t.w.link.busy
    t.w.panels.pane.send("Tell it again.")
    yield lambda: t.w.turns.turn is not None and len(t.w.turns.turn.rounds) > 5


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
    yield lambda: not chats._searching._timer.isActive()  # a rare word: all chats have been looked through
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
