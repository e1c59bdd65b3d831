"""The link between the views: what it announces, in which order, and what it refuses."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.selection import NONE, Selection, nodes_of
from engine.trace import Turn
from tests.fake_turn import fake_turn

ROUNDS = fake_turn(1, rounds=6).rounds


def running(rounds: int) -> Turn:
    """A turn that has so many rounds and no end yet."""
    return Turn(rounds=ROUNDS[:rounds])


class Log:
    """Everything a selection announced, in order."""

    def __init__(self, selection: Selection) -> None:
        self.events: list[tuple] = []
        selection.turn_changed.connect(lambda turn: self.events.append(("turn", turn)))
        selection.rounds_changed.connect(lambda: self.events.append(("rounds",)))
        selection.round_changed.connect(lambda i: self.events.append(("round", i)))
        selection.hover_changed.connect(lambda r, n: self.events.append(("hover", r, n)))
        selection.pin_changed.connect(lambda r, n: self.events.append(("pin", r, n)))
        selection.live_changed.connect(lambda on: self.events.append(("live", on)))

    def take(self) -> list[tuple]:
        """Events since the last call."""
        out, self.events[:] = list(self.events), []
        return out


@pytest.fixture
def selection(qapp):
    """An empty selection."""
    return Selection()


def test_starts_live_with_nothing(selection):
    """A window without a chat must not show or step to a round that is not there."""
    selection.step(1)
    selection.go(3)
    selection.pin(0)
    assert (selection.turn, selection.round_index, selection.live, selection.current()) == (None, -1, True, None)


def test_showing_a_turn_goes_to_its_newest_round(selection):
    """Opening a message shows where it ended, and follows."""
    log, turn = Log(selection), fake_turn(0, rounds=5)
    selection.show_turn(turn)
    assert selection.current() is turn.rounds[4]
    assert log.take() == [("turn", turn), ("round", 4)]


def test_a_lesson_starts_at_the_first_round(selection):
    """A recorded trace can be opened at its beginning."""
    selection.show_turn(fake_turn(0, rounds=5), live=False)
    assert (selection.round_index, selection.live) == (0, False)


def test_appended_rounds_are_followed_only_when_live(selection):
    """Looking back must not be interrupted by the engine."""
    turn = running(2)
    selection.show_turn(turn)
    turn.add(ROUNDS[2])
    selection.refresh()
    assert selection.round_index == 2
    selection.go(0)
    turn.add(ROUNDS[3])
    log = Log(selection)
    selection.refresh()
    assert (selection.round_index, log.take()) == (0, [("rounds",)])
    selection.follow()
    assert (selection.round_index, selection.live) == (3, True)


def test_refresh_without_news_says_nothing(selection):
    """The window's timer calls refresh thirty times a second."""
    selection.show_turn(fake_turn(0, rounds=2))
    log = Log(selection)
    selection.refresh()
    assert log.take() == []


def test_first_round_of_a_running_turn_appears_even_when_not_live(selection):
    """A turn that had no rounds when it was opened still shows its first."""
    turn = running(0)
    selection.show_turn(turn, live=False)
    assert selection.round_index == -1
    turn.add(ROUNDS[0])
    selection.refresh()
    assert selection.round_index == 0


def test_go_clamps_and_stops_following(selection):
    """Dragging past the end of the timeline stays on the last round."""
    selection.show_turn(fake_turn(0, rounds=4))
    log = Log(selection)
    selection.go(99)
    assert log.take() == [("live", False)]
    selection.go(-5)
    assert (selection.round_index, log.take()) == (0, [("round", 0)])


def test_step_at_the_end_keeps_live(selection):
    """`.` on the newest round is not a reason to stop following it."""
    selection.show_turn(fake_turn(0, rounds=3))
    selection.step(1)
    assert selection.live
    selection.step(-1)
    assert (selection.round_index, selection.live) == (1, False)


def test_hover_is_checked_and_announced_once(selection):
    """A stale node id from another round must not light up something else."""
    selection.show_turn(fake_turn(0, rounds=3))
    log = Log(selection)
    selection.hover(1, 2)
    selection.hover(1, 2)
    selection.hover(1, 10_000)
    selection.hover(7)
    assert log.take() == [("hover", 1, 2), ("hover", 1, -1), ("hover", -1, -1)]


def test_every_token_has_a_node_of_its_own(selection):
    """The bonus token must not light up the accepted node whose row decided it."""
    turn = fake_turn(3, rounds=4)
    selection.show_turn(turn)
    shown = next(r for r in turn.rounds if r.accepted_emitted and r.emitted[-1].source == "bonus")
    nodes = nodes_of(shown)
    assert nodes == (*shown.accepted, len(shown.nodes))
    selection.hover(shown.index, nodes[-1])
    assert selection.hovered == (shown.index, len(shown.nodes))


def test_tokens_that_were_run_again_have_their_cards(selection):
    """Exact replies: a token that had to wait stands on the next row that was run again, or on the root."""
    turn = fake_turn(3, rounds=4)
    shown = next(r for r in turn.rounds if len(r.emitted) >= 3 and r.emitted[0].source == "draft")
    waited = [token._replace(node=-1) for token in shown.emitted[:2]]
    again = replace(shown, replayed=(shown.emitted[0], waited[0]), emitted=(*waited, *shown.emitted[2:]))
    own = len(shown.nodes)
    assert nodes_of(again)[:2] == (own + 2, 0)
    assert nodes_of(again)[2:] == nodes_of(shown)[2:]
    right = waited[1]._replace(source="correction")
    assert nodes_of(replace(again, emitted=(waited[0], right))) == (own + 2, own)
    selection.show_turn(Turn(turn.start, turn.prefill, [again]))
    selection.hover(0, own + 2)
    assert selection.hovered == (0, own + 2)
    selection.hover(0, own + 3)
    assert selection.hovered == (0, -1)


def test_pin_shows_its_round_and_toggles(selection):
    """A click on a word shows the round it came from; the same click again lets go."""
    selection.show_turn(fake_turn(0, rounds=5))
    selection.toggle_pin(2, 1)
    assert (selection.pinned, selection.round_index, selection.live) == ((2, 1), 2, False)
    selection.toggle_pin(2, 1)
    assert (selection.pinned, selection.round_index) == (NONE, 2)


def test_another_turn_forgets_hover_and_pin(selection):
    """Node ids mean nothing in another turn."""
    selection.show_turn(fake_turn(0, rounds=5))
    selection.pin(2, 1)
    selection.hover(1)
    selection.show_turn(fake_turn(0, rounds=3))
    assert (selection.pinned, selection.hovered, selection.live) == (NONE, NONE, True)


def test_change_inside_a_slot_reaches_everybody_last(selection):
    """A listener that reacts by moving on must not leave a later listener on the older round."""
    selection.show_turn(fake_turn(0, rounds=5))
    heard = []
    selection.round_changed.connect(lambda i: selection.go(3) if i == 1 else None)
    selection.round_changed.connect(heard.append)
    selection.go(1)
    assert heard[-1] == selection.round_index == 3


def test_turn_shown_inside_a_slot_is_announced_whole(selection):
    """Replacing the turn from a slot announces the new turn, not half of the old one."""
    first, second = fake_turn(0, rounds=5), fake_turn(0, rounds=2)
    seen = []
    selection.turn_changed.connect(lambda turn: selection.show_turn(second) if turn is first else None)
    selection.turn_changed.connect(seen.append)
    selection.show_turn(first)
    assert seen[-1] is second
    assert selection.current() is second.rounds[-1]
