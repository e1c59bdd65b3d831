"""Slow motion: a moving cursor, honest about its pace, that yields to the user."""

from dataclasses import replace

import pytest

from app.player import Player
from app.selection import Selection
from app.tree.stepper import Stepper
from engine import Turn
from tests.fake_turn import fake_turn


@pytest.fixture
def selection(qapp):
    """Nothing shown yet."""
    return Selection()


@pytest.fixture
def player(selection):
    """A player over it."""
    stepper = Stepper(selection)
    player = Player(selection, stepper)
    player.stepper = stepper
    yield player
    player.stop()


def short(count, ms=2.0):
    """A turn of quick rounds."""
    turn = fake_turn(1, rounds=count)
    turn.rounds[:] = [
        replace(r, timings=replace(r.timings, total=ms, draft=ms / 4, verify=ms / 2, commit=ms / 8))
        for r in turn.rounds
    ]
    return turn


def test_plays_from_the_start_to_the_end(selection, player, qtbot):
    """A finished turn is replayed from its first round and then rests on its last."""
    selection.show_turn(short(6))
    seen = []
    selection.round_changed.connect(seen.append)
    player.set_pace(1)
    player.play()
    assert player.playing
    assert "recorded speed" in player.banner()
    qtbot.waitUntil(lambda: not player.playing, timeout=4000)
    assert seen == [0, 1, 2, 3, 4, 5]
    assert player.banner() == ""


def test_slow_motion_walks_the_steps_and_says_so(selection, player, qtbot):
    """20 times slower there is time for root, levels, prune, verify, accept, commit."""
    selection.show_turn(short(2, ms=0.5))
    names = []
    player.stepper.changed.connect(lambda: names.append(player.stepper.step.name))
    player.set_pace(20)
    player.play()
    assert "slowed 20×" in player.banner()
    qtbot.waitUntil(lambda: not player.playing, timeout=8000)
    for name in ("root", "level", "prune", "verify", "accept", "commit"):
        assert name in names


def test_waits_for_a_running_engine(selection, player, qtbot):
    """Slower than the engine it lags behind; faster it waits; nothing is asked of the engine."""
    turn = short(6)
    growing = Turn(start=turn.start, prefill=turn.prefill, rounds=turn.rounds[:3])
    selection.show_turn(growing)
    selection.go(0)
    player.set_pace(1)
    player.play()
    qtbot.waitUntil(lambda: selection.round_index == 2)
    qtbot.wait(150)
    assert player.playing
    growing.rounds += turn.rounds[3:]
    growing.end = turn.end
    selection.refresh()
    qtbot.waitUntil(lambda: not player.playing, timeout=4000)
    assert selection.round_index == 5


def test_user_takes_over(selection, player):
    """A click on another round stops the show."""
    selection.show_turn(short(9, ms=500))
    player.set_pace(1)
    player.play()
    selection.go(5)
    assert not player.playing


def test_live_stops_it(selection, player):
    """Following the engine and playing a recording are two things."""
    selection.show_turn(short(9, ms=500))
    selection.go(3)
    player.play()
    selection.follow()
    assert not player.playing


def test_another_turn_stops_it(selection, player):
    """And an empty one cannot be played."""
    selection.show_turn(short(3, ms=500))
    player.play()
    selection.show_turn(Turn())
    assert not player.playing
    player.play()
    assert not player.playing
