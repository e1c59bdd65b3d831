import pytest
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QTextCursor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from app.chat import links
from app.chat.body import MarkdownBody
from app.chat.conversation import ConversationView
from app.chat.provenance import Provenance
from app.chat.word_link import WordLink
from app.selection import Selection
from app.theme import theme
from engine.trace import Turn
from tests.app.chat.chat_help import message, settle
from tests.app.chat.test_provenance import turn_of
from tests.app.chat.test_provenance_view import move

PIECES = [
    "Some", " **", "bold", " words", "**", " and", " a", " [", "link", "](", "https", "://", "e.org", ")", " here", ".",
    "\n\n", "```", "python", "\n", "print", "(", "bold", ")", "\n", "```", "\n\n", "-", " first", " item", "\n", "-",
    " 😀", " last", " item", ".",
]  # fmt: skip
TEXT = "".join(PIECES)


@pytest.fixture
def turn() -> Turn:
    """A reply with text, code and a list, three tokens a round."""
    return turn_of(PIECES, TEXT)


@pytest.fixture
def shown(view: ConversationView, turn: Turn, selection: Selection) -> ConversationView:
    """A conversation whose reply is the turn, as Markdown, and the selection shows the turn too."""
    view.set_messages([message(1, "user", "Some bold words"), message(2, text=TEXT)])
    settle()
    view.set_turn(2, turn)
    selection.show_turn(turn)
    settle()
    return view


def body_of(view: ConversationView, number: int = 2) -> MarkdownBody:
    """The Markdown of a reply."""
    found = view.flow.widget_of(number).body
    assert isinstance(found, MarkdownBody)
    return found


def find(view: ConversationView, word: str, number: int = 2, nth: int = 0) -> tuple:
    """The widget that shows a word and the middle of its second letter."""
    for text in body_of(view, number).texts():
        cursor = text.document().find(word)
        if not cursor.isNull() and nth:
            nth -= 1
            continue
        if not cursor.isNull():
            return text, middle(text, cursor.selectionStart() + (len(word) > 1))
    raise AssertionError(word)


def middle(text: object, position: int) -> QPoint:
    """The middle of a character."""
    cursor = QTextCursor(text.document())
    cursor.setPosition(position)
    left = text.cursorRect(cursor)
    cursor.movePosition(QTextCursor.MoveOperation.NextCharacter)
    return QPoint((left.left() + text.cursorRect(cursor).left()) // 2, left.center().y())


def place_of(turn: Turn, index: int) -> tuple[int, int]:
    """Round and node of a token."""
    place = Provenance.of(turn).tokens[index]
    return place.round, place.node


def lit(view: ConversationView, role: str, number: int = 2) -> list[str]:
    """The words over a colour, mark by mark."""
    colour = theme().color(role)
    marks = [s for text in body_of(view, number).texts() for s in text.extraSelections()]
    return [s.cursor.selectedText() for s in marks if s.format.background().color() == colour]


def test_hovering_a_word_lights_its_round_everywhere(shown: ConversationView, turn: Turn, selection: Selection) -> None:
    """Words of a paragraph with bold and a link, of code and of a list each lead to their own token."""
    for word, index in ((" words", 3), ("link", 8), ("here", 14), ("print", 20), ("first", 28), ("last", 33)):
        text, point = find(shown, word)
        move(text, point)
        assert selection.hovered == place_of(turn, index), word
        assert [marked.strip() for marked in lit(shown, "accent")] == [word.strip()]
    for nth, index in ((0, 2), (1, 22)):
        text, point = find(shown, "bold", nth=nth)
        move(text, point)
        assert selection.hovered == place_of(turn, index)
    QApplication.sendEvent(text, QEvent(QEvent.Type.Leave))
    assert selection.hovered == (-1, -1)
    assert lit(shown, "accent") == lit(shown, "highlight") == []


def test_beside_the_words_nothing_is_hovered(shown: ConversationView, selection: Selection) -> None:
    """Right of the end of a line, below the last one and on what no token made."""
    text, point = find(shown, "last")
    move(text, point)
    assert selection.hovered != (-1, -1)
    move(text, QPoint(text.width() - 2, point.y()))
    assert selection.hovered == (-1, -1)


def test_a_click_pins_and_a_drag_selects(shown: ConversationView, turn: Turn, selection: Selection) -> None:
    """A click on a word shows its round and a second one lets it go; words can still be selected."""
    text, point = find(shown, "words")
    QTest.mouseClick(text.viewport(), Qt.MouseButton.LeftButton, pos=point)
    assert selection.pinned == place_of(turn, 3)
    assert selection.round_index == place_of(turn, 3)[0]
    wait = QApplication.doubleClickInterval() + 10
    QTest.mouseClick(text.viewport(), Qt.MouseButton.LeftButton, pos=point, delay=wait)
    assert selection.pinned == (-1, -1)
    QTest.mousePress(text.viewport(), Qt.MouseButton.LeftButton, pos=point, delay=wait)
    QTest.mouseMove(text.viewport(), point + QPoint(60, 0))
    QTest.mouseRelease(text.viewport(), Qt.MouseButton.LeftButton, pos=point + QPoint(60, 0))
    assert selection.pinned == (-1, -1)
    assert text.textCursor().hasSelection()


def test_a_link_is_still_a_link(shown: ConversationView, selection: Selection, monkeypatch: pytest.MonkeyPatch) -> None:
    """Clicking a link asks whether to open it, and pins nothing."""
    asked = []
    monkeypatch.setattr(links, "ask", lambda window, url: asked.append(url.toString()))
    text, point = find(shown, "link")
    QTest.mouseClick(text.viewport(), Qt.MouseButton.LeftButton, pos=point)
    assert asked == ["https://e.org"]
    assert selection.pinned == (-1, -1)


def test_a_round_chosen_elsewhere_lights_its_words(shown: ConversationView, turn: Turn, selection: Selection) -> None:
    """A bar or a node under the mouse marks the words of its round, markup left out, and what is pinned stays."""
    selection.hover(0)
    assert lit(shown, "highlight") == [" bold words"]  # and not the first token, which no round emitted
    selection.hover(5)
    assert lit(shown, "highlight") == []  # "python" and what stands before it are not shown
    selection.hover(7)
    assert lit(shown, "highlight") == ["bold)"]
    selection.hover(10)
    assert lit(shown, "highlight") == ["😀 last"]
    selection.hover(-1)
    assert lit(shown, "highlight") == []
    selection.pin(2)
    assert lit(shown, "accent_soft") == [" link"]
    selection.hover(0)
    assert lit(shown, "accent_soft") == [" link"]
    assert lit(shown, "highlight") == [" bold words"]
    theme().set_mode("dark")
    assert lit(shown, "accent_soft") == [" link"]
    theme().set_mode("light")
    assert lit(shown, "highlight") == [" bold words"]


def test_marks_come_back(shown: ConversationView, selection: Selection) -> None:
    """When the message's widget is made anew, and when tokens were underlined for a while."""
    selection.pin(0)
    shown.flow.column.remake(2)
    shown.show_message(2)
    settle()
    assert lit(shown, "accent_soft") == [" bold words"]
    shown.set_provenance(True)
    selection.pin(7)
    assert body_of(shown).isHidden()
    shown.set_provenance(False)
    assert lit(shown, "accent_soft") == ["bold)"]


def test_marks_of_a_search_stay(shown: ConversationView, selection: Selection) -> None:
    """Both are marked at once, and each goes by itself."""
    shown.finder.open_at(2, "first")
    selection.hover(0)
    assert lit(shown, "highlight") == [" bold words"]
    assert lit(shown, "accent") == ["first"]
    shown.finder.close()
    assert lit(shown, "highlight") == [" bold words"]
    assert lit(shown, "accent") == []


def test_without_a_record_nothing_happens(
    qtbot, view: ConversationView, turn: Turn, selection: Selection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a hover nor a click in a reply of which no record is kept does anything, nor is one asked for."""
    view.set_messages([message(1, "user", "q"), message(2, text=TEXT)])
    settle()
    selection.show_turn(turn)
    text, point = find(view, "words")
    with qtbot.assertNotEmitted(view.trace_needed), qtbot.assertNotEmitted(view.turn_wanted):
        move(text, point)
        QTest.mouseClick(text.viewport(), Qt.MouseButton.LeftButton, pos=point)
    assert selection.hovered == selection.pinned == (-1, -1)
    selection.hover(0)
    assert lit(view, "highlight") == []


def test_a_kept_record_is_read_for_the_first_word(
    qtbot, view: ConversationView, turn: Turn, selection: Selection
) -> None:
    """An older reply's record is asked for when a word of it is clicked; then its turn is shown and the word pinned."""
    view.set_messages([message(1, "user", "q"), message(2, text=TEXT, has_trace=True), message(3, "user"), message(4)])
    settle()
    text, point = find(view, "words")
    with qtbot.waitSignal(view.trace_needed) as asked:
        QTest.mouseClick(text.viewport(), Qt.MouseButton.LeftButton, pos=point)
    assert asked.args == [2]
    with qtbot.waitSignal(view.turn_wanted) as wanted:
        view.set_turn(2, turn)
    assert wanted.args == [2]
    selection.show_turn(turn, live=False)
    assert selection.pinned == place_of(turn, 3)
    assert "words" in "".join(lit(view, "accent"))


def test_a_growing_reply_keeps_its_marks(
    view: ConversationView, selection: Selection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While it streams nothing is compared unless words are marked, and marked ones stay to the end."""
    whole = turn_of(PIECES, TEXT)
    view.set_messages([message(1, "user", "q"), message(2, text="", finish_reason="")])
    growing = Turn(whole.start, whole.prefill)
    view.begin(2)
    settle()
    view.set_turn(2, growing)
    selection.show_turn(growing)
    view.append_text(2, PIECES[0])
    with monkeypatch.context() as patch:
        patch.setattr(WordLink, "_alignment", lambda *_: pytest.fail("compared while text streams"))
        patch.setattr(WordLink, "_relight", lambda *_: pytest.fail("marked while text streams"))
        for number in range(5):
            growing.add(whole.rounds[number])
            selection.refresh()
            view.append_text(2, "".join(t.text for t in whole.rounds[number].emitted))
    settle()
    text, point = find(view, "words")
    move(text, point)
    assert selection.hovered == place_of(whole, 3)
    selection.pin(0)
    for number in range(5, len(whole.rounds)):
        growing.add(whole.rounds[number])
        selection.refresh()
        view.append_text(2, "".join(t.text for t in whole.rounds[number].emitted))
        assert [w.replace("*", "").strip() for w in lit(view, "accent_soft")] == ["bold words"]
    growing.add(whole.end)
    view.finish(message(2, text=TEXT, finish_reason="length"))
    assert lit(view, "accent_soft") == [" bold words"]


def test_blocks_know_their_source(qtbot) -> None:
    """Fed at once or piece by piece, every block names the stretch of the text that it was made from."""
    whole, grown = MarkdownBody(TEXT), MarkdownBody()
    for body in (whole, grown):
        qtbot.addWidget(body)
    for piece in PIECES:
        grown.append(piece)
        for text in grown.texts():
            start, end = grown.source_range(text)
            assert 0 <= start < end <= len(grown.words.source)
    grown.finish()
    code, after = TEXT.index("```python"), TEXT.index("- first")
    for body in (whole, grown):
        parts = [TEXT[slice(*body.source_range(text))].strip() for text in body.texts()]
        assert parts == [TEXT[:code].strip(), TEXT[code:after].strip(), TEXT[after:]]
