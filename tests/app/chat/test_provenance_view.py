import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QMouseEvent, QTextCursor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from app.chat.conversation import ConversationView
from app.chat.provenance import Provenance
from app.chat.provenance_view import NO_MARKDOWN, ProvenanceView
from app.chat.strokes import pieces
from app.chat.token_link import NO_RECORD
from app.chat.token_words import NO_BREAK, card
from app.chat.underline import STYLES
from app.selection import Selection
from app.theme import contrast, theme
from engine.trace import Turn
from tests.app.chat.chat_help import message, settle
from tests.app.chat.test_provenance import SPLIT, SPLIT_BYTES, turn_of
from tests.fake_turn import fake_turn


@pytest.fixture
def turn() -> Turn:
    """A reply of some rounds."""
    return fake_turn(5, rounds=12)


@pytest.fixture
def view(selection: Selection, turn: Turn, on_screen) -> ConversationView:
    """A conversation whose reply is the turn, tokens shown, and the selection shows the turn too."""
    made = on_screen(ConversationView(selection), 640, 600)
    made.set_messages([message(1, "user", "q"), message(2, text=turn.text)])
    settle()
    made.set_turn(2, turn)
    made.set_provenance(True)
    selection.show_turn(turn)
    settle()
    return made


def tokens_of(view: ConversationView, number: int = 2) -> ProvenanceView:
    """The underlined text of a reply."""
    found = view.flow.widget_of(number).tokens
    assert isinstance(found, ProvenanceView)
    return found


def centre(tokens: ProvenanceView, position: int) -> QPoint:
    """A point in the middle of a character."""
    cursor = QTextCursor(tokens.document())
    cursor.setPosition(position)
    left = tokens.cursorRect(cursor)
    cursor.setPosition(position + 1)
    right = tokens.cursorRect(cursor)
    return QPoint((left.left() + right.left()) // 2, left.center().y())


def move(tokens: ProvenanceView, point: QPoint) -> None:
    """Move the mouse over the text."""
    where = QPointF(point)
    event = QMouseEvent(
        QEvent.Type.MouseMove, where, tokens.viewport().mapToGlobal(where),
        Qt.MouseButton.NoButton, Qt.MouseButton.NoButton, Qt.KeyboardModifier.NoModifier,
    )  # fmt: skip
    QApplication.sendEvent(tokens.viewport(), event)


def lit(tokens: ProvenanceView, role: str) -> str:
    """The words over a colour."""
    colour = theme().color(role)
    return "".join(s.cursor.selectedText() for s in tokens.extraSelections() if s.format.background().color() == colour)


def test_the_text_is_plain_and_exact(view: ConversationView, turn: Turn) -> None:
    """Every token is visible exactly, so there is no Markdown; that is said, and so are the counts."""
    tokens = tokens_of(view)
    assert tokens.toPlainText() == turn.text
    legend = view.flow.widget_of(2)._legend
    stats = turn.stats()
    words = legend.text().replace(NO_BREAK, " ")
    assert f"{len(turn.tokens)} tokens" in words
    assert f"{stats.accepted} accepted draft" in words
    assert legend.toolTip() == NO_MARKDOWN
    assert f"{stats.accepted} accepted draft" in tokens.accessibleDescription()
    view.set_provenance(False)
    settle()
    assert view.flow.widget_of(2).tokens is None
    assert view.flow.widget_of(2).body.isVisible()


def test_hovering_any_token_lights_its_round_and_node_everywhere(
    view: ConversationView, turn: Turn, selection: Selection
) -> None:
    """Each token leads to the round and node that carried it."""
    tokens = tokens_of(view)
    at = 0
    for place in Provenance.of(turn).tokens:
        piece = place.token.text
        move(tokens, centre(tokens, at + len(piece) // 2))
        assert selection.hovered == (place.round, place.node)
        assert lit(tokens, "accent") == piece
        at += len(piece)
    QApplication.sendEvent(tokens.viewport(), QEvent(QEvent.Type.Leave))
    assert selection.hovered == (-1, -1)


def test_a_click_pins_and_a_second_one_unpins(view: ConversationView, turn: Turn, selection: Selection) -> None:
    """Clicking a word shows its round; dragging to select words does not."""
    tokens = tokens_of(view)
    place = Provenance.of(turn).tokens[9]
    at = sum(len(t.text) for t in turn.tokens[:9])
    point = centre(tokens, at + 1)
    QTest.mouseClick(tokens.viewport(), Qt.MouseButton.LeftButton, pos=point)
    assert selection.pinned == (place.round, place.node)
    assert selection.round_index == place.round
    QTest.mouseClick(
        tokens.viewport(), Qt.MouseButton.LeftButton, pos=point, delay=QApplication.doubleClickInterval() + 10
    )
    assert selection.pinned == (-1, -1)
    QTest.mousePress(tokens.viewport(), Qt.MouseButton.LeftButton, pos=point)
    QTest.mouseMove(tokens.viewport(), point + QPoint(60, 0))
    QTest.mouseRelease(tokens.viewport(), Qt.MouseButton.LeftButton, pos=point + QPoint(60, 0))
    assert selection.pinned == (-1, -1)


def test_a_round_chosen_elsewhere_lights_its_words(view: ConversationView, turn: Turn, selection: Selection) -> None:
    """A bar or a node under the mouse marks exactly the words of its round; a node its own word more."""
    tokens = tokens_of(view)
    for number, record in enumerate(turn.rounds):
        words = "".join(t.text for t in record.emitted)
        selection.hover(number)
        assert lit(tokens, "highlight") == words
    draft = next((r.index, t) for r in turn.rounds for t in r.emitted if t.source == "draft")
    selection.hover(draft[0], draft[1].node)
    assert lit(tokens, "accent") == draft[1].text
    later = 3
    selection.hover(later, 0)
    assert lit(tokens, "accent") == turn.rounds[later - 1].emitted[-1].text
    selection.hover(0, 0)
    assert lit(tokens, "accent") == turn.tokens[0].text
    selection.hover(-1)
    assert tokens.extraSelections() == []
    selection.pin(2)
    assert lit(tokens, "accent_soft") == "".join(t.text for t in turn.rounds[2].emitted)


def test_the_shown_round_keeps_its_words_marked(
    view: ConversationView, turn: Turn, selection: Selection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bar was clicked, or a round stepped to: with the mouse away its words were marked no more."""
    tokens = tokens_of(view)

    def words(number: int) -> str:
        return "".join(t.text for t in turn.rounds[number].emitted)

    assert lit(tokens, "accent_soft") == ""  # the newest is followed: every new word would be marked
    selection.go(4)
    assert lit(tokens, "accent_soft") == words(4)
    selection.step(1)
    assert lit(tokens, "accent_soft") == words(5)
    selection.pin(7)
    assert lit(tokens, "accent_soft") == words(7)
    selection.pin(-1)
    assert lit(tokens, "accent_soft") == words(7)
    with monkeypatch.context() as patch:  # the first token belongs to no round: nothing to go back to the start for
        patch.setattr(view.flow, "bring_into_view", lambda *place: pytest.fail(f"scrolled to {place}"))
        selection.follow()
    assert lit(tokens, "accent_soft") == ""


def test_another_turn_is_fetched_and_then_pinned(
    qtbot, view: ConversationView, turn: Turn, selection: Selection
) -> None:
    """A click in an older reply asks for its record to be shown, then pins the word that was clicked."""
    older = fake_turn(9, rounds=6)
    view.set_messages([message(1, "user", "q"), message(2, text=older.text), message(3, "user"), message(4)])
    settle()
    view.set_turn(2, older)
    settle()
    tokens = tokens_of(view)
    place = Provenance.of(older).tokens[5]
    at = sum(len(t.text) for t in older.tokens[:5])
    with qtbot.waitSignal(view.turn_wanted) as caught:
        QTest.mouseClick(tokens.viewport(), Qt.MouseButton.LeftButton, pos=centre(tokens, at + 1))
    assert caught.args == [2]
    selection.show_turn(older, live=False)
    assert selection.pinned == (place.round, place.node)
    selection.show_turn(turn)
    selection.hover(1)
    assert lit(tokens, "highlight") == ""


def test_records_are_asked_for_and_their_lack_is_said(qtbot, view: ConversationView, turn: Turn) -> None:
    """Only replies near the view are asked for; without a record the Markdown stays, with a word why."""
    with qtbot.waitSignal(view.trace_needed) as caught:
        view.set_messages([message(7, "user", "q"), message(8, text="**x**")])
    assert caught.args == [8]
    view.set_no_turn(8)
    reply = view.flow.widget_of(8)
    assert reply._legend.text() == NO_RECORD
    assert reply.tokens is None
    assert reply.body.isVisible()


def test_a_running_reply_grows_token_by_token(view: ConversationView, selection: Selection) -> None:
    """While it streams, text and tokens come together; at the end all are there."""
    whole = fake_turn(11, rounds=10)
    view.set_messages([message(1, "user", "q"), message(2, text="", finish_reason="")])
    growing = Turn(whole.start, whole.prefill)
    view.begin(2)
    settle()
    view.set_turn(2, growing)
    selection.show_turn(growing)
    view.append_text(2, whole.prefill.text)
    for record in whole.rounds:
        growing.add(record)
        selection.refresh()
        view.append_text(2, record.text)
        tokens = tokens_of(view)
        assert tokens.toPlainText() == growing.text
        assert sum(tokens.provenance.counts().values()) == len(growing.tokens)
    growing.add(whole.end)
    view.finish(message(2, text=whole.text, finish_reason="length"))
    assert tokens_of(view).provenance.counts() == Provenance.of(whole).counts()


def test_a_reply_that_has_just_begun_has_a_record(qtbot, view: ConversationView) -> None:
    """It is not stored yet: nobody may be asked for it, and the answer that there is none must not win."""
    view.set_messages(
        [message(1, "user", "q"), message(2), message(3, "user", "r"), message(4, text="", finish_reason="")]
    )
    with qtbot.assertNotEmitted(view.tokens.trace_needed):
        view.begin(4)
        settle()
    reply = view.view_of(4)
    assert reply is not None
    assert reply._legend.text() == ""
    growing = Turn(fake_turn(11, rounds=2).start)
    view.set_turn(4, growing)
    view.set_no_turn(4)
    assert NO_RECORD not in reply._legend.text()
    assert view.tokens._turns[4] is growing


def test_half_characters_and_wide_ones_can_be_hovered(qtbot) -> None:
    """Characters outside the basic plane take two positions in Qt; the token under the mouse is still the right one."""
    text = b"".join(SPLIT_BYTES).decode()
    tokens = ProvenanceView()
    qtbot.addWidget(tokens)
    tokens.resize(400, 60)
    tokens.show_tokens(Provenance.of(turn_of(list(SPLIT), text)))
    with qtbot.waitExposed(tokens):
        tokens.show()
    for position, wanted in ((0, (0,)), (2, (1, 2, 3)), (4, (4,)), (6, (5,)), (7, (6, 7)), (8, (8,)), (9, (9, 10))):
        span = tokens.span_at(centre(tokens, position))
        assert span is not None
        assert span.tokens == wanted
    words = card(tokens.provenance, tokens.provenance.spans[1])
    assert "one character together" in words
    assert words.count("id ") == 3


def test_underlines_do_not_rely_on_colour_alone(qtbot) -> None:
    """Each source has a line style and a mark of its own, in a colour that can be seen."""
    lines = [style[1] for style in STYLES.values()]
    marks = [style[2] for style in STYLES.values()]
    assert len(set(lines)) == len(set(marks)) == len(STYLES)
    for mode in ("light", "dark"):
        theme().set_mode(mode)
        for fate, *_ in STYLES.values():
            assert contrast(theme().fate_ink(fate), theme().color("surface")) >= 3


def test_underlines_are_drawn_under_their_tokens(qtbot, turn: Turn) -> None:
    """Each piece of line lies in the token's line, within its letters, also across a wrap."""
    tokens = ProvenanceView()
    qtbot.addWidget(tokens)
    tokens.resize(220, tokens.heightForWidth(220))
    tokens.show_tokens(Provenance.of(turn))
    tokens.resize(220, tokens.heightForWidth(220))
    with qtbot.waitExposed(tokens):
        tokens.show()
    for span in tokens.provenance.spans:
        found = list(pieces(tokens.document(), span.start, span.end))
        assert found
        for left, right, base in found:
            assert 0 <= left < right <= 220
            assert 0 < base < tokens.height()
        first = tokens.cursorRect(_cursor(tokens, span.start))
        assert abs(found[0][0] - first.left()) <= 2 or len(found) > 1
    tokens.grab()


def _cursor(tokens: ProvenanceView, position: int) -> QTextCursor:
    cursor = QTextCursor(tokens.document())
    cursor.setPosition(position)
    return cursor


@pytest.mark.parametrize("width", [300, 360, 460])
def test_the_counts_are_whole_in_a_narrow_chat_with_large_text(view: ConversationView, turn: Turn, width: int) -> None:
    """At 14 points in a window of 1024 pixels their lines were cut above, below and at the side."""
    view.resize(width, 500)
    theme().set_font_size(14)
    settle()
    view.flow.place()
    settle()
    label = view.flow.widget_of(2)._legend
    needed = label.fontMetrics().boundingRect(0, 0, label.width(), 10_000, int(Qt.TextFlag.TextWordWrap), label.text())
    assert label.width() <= view.flow.widget_of(2).width()
    assert needed.width() <= label.width()
    assert needed.height() <= label.height()
