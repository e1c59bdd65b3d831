import sys
import time

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit

from app.chat import chat_search
from app.chat.chat_delegate import RUNNING, ChatDelegate
from app.chat.chat_list import ChatList
from app.chat.chat_menu import chat_menu
from app.chat.chat_rows import CHAT, MESSAGE, ago
from app.store import Store, StoreError
from app.writer import Writer
from tests.app.chat.chat_help import rows


@pytest.fixture
def chats(store: Store, writer: Writer, on_screen) -> ChatList:
    """A list of three chats, "c" on top."""
    for title in "abc":
        store.chats.new(title)
    made = on_screen(ChatList(store, writer), 240, 400)
    made.activateWindow()
    return made


def titles(chats: ChatList) -> list[str]:
    """What is listed."""
    return [row.text() for row in rows(chats)]


def test_choosing_by_key_and_mouse(qtbot, chats: ChatList) -> None:
    """Arrow keys and clicks show a chat, once each."""
    shown: list[int] = []
    chats.chosen.connect(shown.append)
    ids = [chats.list.item(n).data(CHAT) for n in range(3)]
    chats.list.setFocus()
    chats.list.setCurrentRow(0)
    QTest.keyClick(chats.list, Qt.Key.Key_Down)
    middle = chats.list.visualItemRect(chats.list.item(2)).center()
    QTest.mouseClick(chats.list.viewport(), Qt.MouseButton.LeftButton, pos=middle)
    assert shown == ids
    assert chats.current == ids[2]


def test_rename_in_place_with_f2(qtbot, chats: ChatList, store: Store) -> None:
    """F2 edits the title where it stands; Enter keeps it, Escape does not."""
    chats.list.setFocus()
    chats.list.setCurrentRow(1)
    for keys, end, wanted in (("new name", Qt.Key.Key_Return, "new name"), ("x", Qt.Key.Key_Escape, "new name")):
        chats.list.setFocus()
        QTest.keyClick(chats.list, Qt.Key.Key_F2)
        editor = chats.list.findChild(QLineEdit)
        assert editor is not None
        editor.selectAll()
        QTest.keyClicks(editor, keys)
        QTest.keyClick(editor, end)
        qtbot.wait(20)
        assert store.chats.get(chats.current).title == wanted
    assert wanted in titles(chats)


def test_delete_can_be_undone_again_and_again(qtbot, chats: ChatList, store: Store) -> None:
    """Delete takes the chat out, shows another, and Undo brings each one back, the last first."""
    chats.list.setFocus()
    chats.list.setCurrentRow(0)
    first = chats.current
    QTest.keyClick(chats.list, Qt.Key.Key_Delete)
    assert titles(chats) == ["b", "a"]
    assert chats.current != first
    assert "“c” was deleted" in chats.undo_bar.label.text()
    QTest.keyClick(chats.list, Qt.Key.Key_Delete)
    assert titles(chats) == ["a"]
    chats.undo_bar.undo_button.click()
    assert titles(chats) == ["b", "a"]
    assert chats.undo_bar.isVisible()
    QTest.keyClick(chats.list, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert titles(chats) == ["c", "b", "a"]
    assert chats.current == first
    assert chats.undo_bar.isHidden()


def test_the_list_is_read_once_where_the_shown_chat_is_deleted(
    chats: ChatList, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading and writing 400 rows takes 10 ms; it was done for the chat that went and for the one that came."""
    chats.list.setCurrentRow(0)
    read: list[int] = []
    listed, shown = store.chats.list, []
    monkeypatch.setattr(store.chats, "list", lambda: read.append(1) or listed())
    chats.chosen.connect(shown.append)
    chats.delete()
    assert titles(chats) == ["b", "a"]
    assert shown == [chats.list.item(0).data(CHAT)] == [chats.current]
    assert chats.list.currentRow() == 0
    assert len(read) == 1


def test_the_delete_key_works_only_in_the_list(chats: ChatList) -> None:
    """A cat on the keyboard, or Delete in the search field, must not delete a chat."""
    chats.list.setCurrentRow(0)
    chats.search.setFocus()
    QTest.keyClicks(chats.search, "c")
    QTest.keyClick(chats.search, Qt.Key.Key_Delete)
    QTest.keyClick(chats.search, Qt.Key.Key_Backspace)
    QTest.keyClick(chats, Qt.Key.Key_Delete)
    chats.refresh()
    assert titles(chats) == ["c", "b", "a"]


def test_deleting_the_last_chat_leaves_an_empty_one(chats: ChatList, store: Store) -> None:
    """There is always something to write into."""
    for _ in range(3):
        chats.list.setFocus()
        chats.list.setCurrentRow(0)
        chats.delete()
    assert titles(chats) == ["New chat"]
    assert chats.current == store.chats.list()[0].id


def test_new_does_not_pile_up_empty_chats(chats: ChatList, store: Store) -> None:
    """Pressing New twice gives one new chat."""
    chats.new_button.click()
    chats.new_button.click()
    assert titles(chats) == ["New chat", "c", "b", "a"]
    store.messages.add(chats.current, None, "user", "hello")
    chats.new_button.click()
    assert titles(chats)[:2] == ["New chat", "hello"]


def test_duplicate(chats: ChatList) -> None:
    """The copy is shown."""
    chats.list.setCurrentRow(1)
    chats.duplicate()
    assert titles(chats)[0] == "b (copy)"
    assert chats.list.currentRow() == 0


def test_search_over_all_chats_leads_to_the_message(qtbot, chats: ChatList, store: Store) -> None:
    """Typing lists hits; Enter goes into them; choosing one says where and what to mark."""
    chat = store.chats.list()[-1]
    prompt = store.messages.add(chat.id, None, "user", "where is the <b>needle</b>?")
    chats.search.setFocus()
    QTest.keyClicks(chats.search, "NEEDLE")
    qtbot.waitUntil(lambda: chats.list.count() == 1 and chats.list.item(0).data(MESSAGE) == prompt.id, timeout=2000)
    with qtbot.waitSignal(chats.hit_chosen) as caught:
        QTest.keyClick(chats.search, Qt.Key.Key_Return)
        QTest.keyClick(chats.list, Qt.Key.Key_Return)
    assert caught.args == [chat.id, prompt.id, "NEEDLE"]
    QTest.keyClick(chats.search, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: chats.list.count() == 3, timeout=2000)
    chats.search.setText("nothing like this")
    qtbot.waitUntil(chats._empty.isVisible, timeout=2000)
    assert "nothing like this" in chats._empty.text()


def test_the_menu_offers_everything(qtbot, chats: ChatList) -> None:
    """Export and import are found where the chat is."""
    chats.list.setCurrentRow(0)
    menu = chat_menu(chats, chats.list.item(0))
    actions = {a.text().split("\t")[0]: a for a in menu.actions()}
    assert list(actions) == [
        "Rename", "Duplicate", "Export as Markdown…", "Export as JSON…", "Import a conversation…", "Delete",
    ]  # fmt: skip
    with qtbot.waitSignal(chats.export_wanted) as caught:
        actions["Export as JSON…"].trigger()
    assert caught.args == [chats.current, "json"]
    with qtbot.waitSignal(chats.import_wanted):
        actions["Import a conversation…"].trigger()
    menu.deleteLater()


def test_a_running_reply_is_marked(chats: ChatList) -> None:
    """One sees in which chat the answer is being written."""
    chats.set_running(chats.list.item(1).data(CHAT))
    assert [bool(chats.list.item(n).data(RUNNING)) for n in range(3)] == [False, True, False]
    chats.refresh()
    assert [bool(chats.list.item(n).data(RUNNING)) for n in range(3)] == [False, True, False]


def test_store_errors_are_said(qtbot, chats: ChatList, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk is a sentence, not a crash, and the chat stays."""

    def full(*_: object) -> None:
        raise StoreError("The disk is full.")

    monkeypatch.setattr(chats._store.chats, "delete", full)
    chats.list.setCurrentRow(0)
    with qtbot.waitSignal(chats.problem) as caught:
        chats.delete()
    assert caught.args == ["The disk is full."]
    assert chats.list.count() == 3
    assert chats.undo_bar.isHidden()


def test_times_as_a_person_says_them() -> None:
    """Today by the clock, then yesterday, then the day."""
    now = time.mktime((2026, 5, 14, 12, 0, 0, 0, 0, -1))
    assert ago(now - 60, now) == "11:59"
    assert ago(now - 86400, now) == "yesterday"
    assert ago(now - 10 * 86400, now) == "4 May"
    assert ago(now - 400 * 86400, now).endswith("2025")


def test_a_change_of_one_chat_leaves_the_other_rows_alone(chats: ChatList, store: Store) -> None:
    """With hundreds of chats the list was made anew at the beginning and end of every reply, 30 ms and more."""
    mark = Qt.ItemDataRole.UserRole + 50
    for row in rows(chats):
        row.setData(mark, row.text())
    store.chats.rename(chats.list.item(2).data(CHAT), "aa")
    store.messages.add(chats.list.item(2).data(CHAT), None, "user", "hello")
    chats.refresh()
    assert titles(chats) == ["aa", "c", "b"]
    assert [row.data(mark) for row in rows(chats)] == ["a", "c", "b"]


def test_rows_that_are_as_they_were_are_not_asked(chats: ChatList, store: Store) -> None:
    """Each call of Qt lets another thread run: where one was busy, asking 400 rows held the window for 60 ms."""
    for n in range(60):
        store.chats.new(f"chat {n}")
    chats.refresh()
    calls: list[str] = []

    def count(_frame: object, kind: str, called: object) -> None:
        if kind == "c_call" and type(getattr(called, "__self__", None)).__module__.startswith("PySide6"):
            calls.append(called.__name__)  # type: ignore[attr-defined]

    store.chats.rename(chats.list.item(7).data(CHAT), "another")
    sys.setprofile(count)
    chats.select(chats.list.item(7).data(CHAT))
    chats.refresh()
    chats.set_running(chats.current)
    sys.setprofile(None)
    assert chats.list.currentItem().text() == "another"
    assert "setText" in calls
    assert len(calls) < 60


def test_a_row_keeps_what_it_says_when_it_moves_or_comes_back(chats: ChatList, store: Store) -> None:
    """Rows are written where they differ from what they were told last: a moved, renamed or running one must follow."""
    a, b, c = (chats.list.item(n).data(CHAT) for n in (2, 1, 0))
    chats.set_running(b)
    store.messages.add(a, None, "user", "hello")
    chats.refresh()
    assert [row.data(CHAT) for row in rows(chats)] == [a, c, b]
    assert [row.data(RUNNING) for row in rows(chats)] == [False, False, True]
    chats.search.setText("nothing has this")
    chats.refresh()
    chats.set_running(c)
    chats.search.clear()
    chats.refresh()
    assert titles(chats) == ["a", "c", "b"]
    assert [row.data(RUNNING) for row in rows(chats)] == [False, True, False]
    store.chats.delete(a)
    chats.refresh()
    store.chats.undo_delete(a)
    chats.refresh()
    assert titles(chats) == ["a", "c", "b"]


def test_rows_are_not_measured_one_by_one(chats: ChatList, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """All have one height: a change of the text size asked each of 400 chats for it, several times."""
    for n in range(60):
        store.chats.new(f"chat {n}")
    asked = []
    measure = ChatDelegate.sizeHint
    monkeypatch.setattr(ChatDelegate, "sizeHint", lambda *args: asked.append(1) or measure(*args))
    chats.refresh()
    chats.list.doItemsLayout()
    chats.grab()
    assert chats.list.count() == 63
    assert len(asked) < 20


def test_a_search_goes_on_chat_by_chat(qtbot, chats: ChatList, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A search through a large database in one go held the window, at every key that was pressed."""
    monkeypatch.setattr(chat_search, "TURN_SECONDS", 1e-9)
    for n in range(12):
        chat = store.chats.new(f"chat {n}").id
        store.messages.add(chat, None, "user", f"a needle in {n}")
    chats.search.setText("needle")
    chats.refresh()
    assert chats.list.count() <= 1
    qtbot.waitUntil(lambda: chats.list.count() == 12)
    assert [row.text() for row in rows(chats)][:2] == ["chat 11", "chat 10"]
    chats.search.setText("nowhere")
    chats.refresh()
    qtbot.waitUntil(lambda: "Nothing found" in chats._empty.text() and chats.list.isHidden())


def test_a_search_that_was_given_up_finds_nothing_more(
    qtbot, chats: ChatList, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hits that come late must not land between the chats."""
    monkeypatch.setattr(chat_search, "TURN_SECONDS", 1e-9)
    for _ in range(8):
        store.messages.add(store.chats.new("many").id, None, "user", "a needle")
    chats.search.setText("needle")
    chats.refresh()
    chats.search.clear()
    chats.refresh()
    qtbot.wait(30)
    assert chats.list.count() == 11
    assert not any(row.data(MESSAGE) for row in rows(chats))


def test_the_groove_of_the_scroll_bar_has_the_lists_colour(qtbot, store: Store, writer: Writer, on_screen) -> None:
    """A background that was transparent by a style sheet made the groove black in light colours."""
    for number in range(60):
        store.chats.new(f"chat {number}")
    bar = on_screen(ChatList(store, writer), 240, 400).list.verticalScrollBar()
    qtbot.waitUntil(lambda: bar.maximum() > 0)
    picture = bar.grab().toImage()
    below_handle = picture.pixelColor(bar.width() // 2, bar.height() - bar.width() - 8)
    assert abs(below_handle.lightness() - bar.palette().window().color().lightness()) < 60
