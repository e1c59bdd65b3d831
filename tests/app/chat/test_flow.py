from __future__ import annotations

import itertools
import time

import pytest
from PySide6.QtWidgets import QLabel, QWidget

from app.chat import flow
from app.chat.flow import Flow
from app.chat.flow_items import Item

SLOW = 0.02  # seconds that a widget takes to make
HEIGHT = 60


def slow_items(count: int) -> list[Item]:
    """Widgets that are dear to make, all of the height that is estimated."""

    def make(parent: QWidget) -> QWidget:
        time.sleep(SLOW)
        label = QLabel("words", parent)
        label.heightForWidth = lambda width: HEIGHT  # type: ignore[method-assign]
        return label

    return [Item(n, make, lambda width: HEIGHT) for n in range(1, count + 1)]


@pytest.fixture
def column(qtbot, on_screen) -> Flow:
    """A shown, empty column in which six items can be seen."""
    made = on_screen(Flow(), 400, 6 * HEIGHT)
    qtbot.waitUntil(lambda: made._painted)
    return made


def bottoms(column: Flow) -> dict[int, int]:
    """Where each shown item ends, seen from the top of the view."""
    shown = {n: column.widget_of(n) for n in range(1, 41)}
    viewport = column.viewport()
    return {
        n: w.mapTo(viewport, w.rect().bottomLeft()).y() for n, w in shown.items() if w is not None and w.isVisible()
    }


@pytest.mark.parametrize("at_end", [True, False])
def test_a_chat_is_shown_a_few_messages_at_a_time_and_none_moves(qtbot, column: Flow, at_end: bool) -> None:
    """All messages in view in one go held the window for 140 ms; one by one they must not push each other around."""
    column.following = at_end
    column.set_items(slow_items(40), at_end)
    seen = [bottoms(column)]
    assert len(seen[0]) == 1
    assert set(seen[0]) == ({40} if at_end else {1})
    while len(seen[-1]) < 5:
        column._rest.due.emit()
        seen.append(bottoms(column))
        assert len(seen[-1]) <= len(seen[-2]) + 1
    for before, after in itertools.pairwise(seen):
        assert {n: after[n] for n in before} == before


def test_everything_in_view_comes_by_itself(qtbot, column: Flow) -> None:
    """Nobody scrolls or clicks to see the rest."""
    column.set_items(slow_items(40))
    qtbot.waitUntil(lambda: len(bottoms(column)) >= 5, timeout=3000)


def test_what_is_jumped_to_is_there_at_once(column: Flow) -> None:
    """A search hit is marked in the widget right after the jump."""
    column.set_items(slow_items(40))
    column.show_item(10)
    assert column.widget_of(10) is not None


def test_a_jump_makes_no_more_than_a_turn_allows(qtbot, column: Flow) -> None:
    """Opening a chat of 500 messages at a hit, and dragging its scroll bar, made all messages in view in one go."""
    column.set_items(slow_items(40))
    for jump in (
        lambda: column.show_item(20, -4),
        lambda: column.verticalScrollBar().setValue(3 * HEIGHT),
        column.show_end,
        column.remeasure,
    ):
        before = len(column.widgets())
        jump()
        assert len(column.widgets()) <= before + 1
    column.show_item(30, -4)
    assert column.widget_of(30) is not None
    assert column.widget_of(29) is None
    qtbot.waitUntil(lambda: len(bottoms(column)) >= 5, timeout=3000)


def test_what_is_out_of_view_can_be_dropped(qtbot, column: Flow) -> None:
    """Changing the colours of widgets that nobody sees was most of the second that it took."""
    column.set_items(slow_items(40))
    for top in (1, 20):
        column.show_item(top)
        column.place()
    column.column.keep(3, True)
    column.drop_unseen()
    assert {n for n in range(1, 41) if column.widget_of(n) is not None} <= {3, *range(19, 28)}
    assert column.widget_of(3) is not None
    assert column.widget_of(20) is not None


def test_a_turn_has_an_end(column: Flow, monkeypatch: pytest.MonkeyPatch) -> None:
    """With time enough all of it is one turn: no needless blank pictures on a fast machine."""
    monkeypatch.setattr(flow, "TURN_SECONDS", 10.0)
    column.set_items(slow_items(40))
    assert len(bottoms(column)) >= 5


def test_the_first_picture_of_the_window_waits_for_no_message(qtbot) -> None:
    """With a chat of last time it came 0.4 s later than without."""
    made = Flow()
    qtbot.addWidget(made)
    made.resize(400, 6 * HEIGHT)
    made.set_items(slow_items(40))
    made.show()
    assert made.widgets() == []
    qtbot.waitUntil(lambda: len(bottoms(made)) >= 5, timeout=3000)
