"""What Space does: through the steps of a round, on into the next, and to a waiting engine."""

from __future__ import annotations

import pytest

from app.selection import Selection
from app.tree.stepper import Stepper
from engine.trace import Phase, Turn


@pytest.fixture
def selection(qapp, turn):
    """Following a turn of five rounds."""
    selection = Selection()
    selection.show_turn(Turn(rounds=turn.rounds[:5]))
    return selection


@pytest.fixture
def stepper(selection):
    """At the newest round."""
    return Stepper(selection)


def test_a_round_is_shown_at_its_end(stepper):
    """Live mode and scrubbing show the final state."""
    assert stepper.step.name == "commit"
    assert not stepper.stepping


def test_space_starts_at_the_root_and_holds_the_view(stepper, selection):
    """Stepping means looking at this round: live must not carry it away."""
    selection.go(1)
    selection.follow()
    stepper.forward()
    assert (stepper.step.name, selection.live, selection.round_index) == ("root", False, 4)
    stepper.forward()
    assert (stepper.step.name, stepper.step.level) == ("level", 1)
    stepper.back()
    assert stepper.step.name == "root"


def test_steps_lead_from_round_to_round(stepper, selection):
    """After commit comes the next root; before the root the commit before."""
    selection.go(1)
    for _ in range(len(stepper.steps)):
        stepper.forward()
    assert (selection.round_index, stepper.step.name) == (1, "commit")
    stepper.forward()
    assert (selection.round_index, stepper.step.name, stepper.stepping) == (2, "root", True)
    stepper.back()
    assert (selection.round_index, stepper.step.name, stepper.stepping) == (1, "commit", True)
    stepper.back()
    assert stepper.step.name == "accept"


def test_the_ends_hold(stepper, selection):
    """Space on the last commit and Shift+Space on the first root do nothing."""
    selection.go(0)
    stepper.go(0)
    stepper.back()
    assert (selection.round_index, stepper.step.name) == (0, "root")
    selection.go(4)
    for _ in range(20):
        stepper.forward()
    assert (selection.round_index, stepper.step.name) == (4, "commit")


def test_back_from_a_shown_round_takes_back_its_commit(stepper, selection):
    """Shift+Space on a final state goes one step back, not one round."""
    selection.go(3)
    stepper.back()
    assert (selection.round_index, stepper.step.name) == (3, "accept")


def test_going_elsewhere_ends_the_walk(stepper, selection):
    """`.` while stepping shows the next round as it ended."""
    selection.go(1)
    stepper.forward()
    selection.step(1)
    assert (stepper.stepping, stepper.step.name) == (False, "commit")


def test_a_waiting_engine_is_shown_only_while_following(stepper, selection, qtbot):
    """Looking back must not be disturbed; coming back shows it again; Space lets the engine go on."""
    phase = Phase(5, "verify", 0, selection.current().nodes)
    with qtbot.waitSignal(stepper.changed):
        stepper.show_phase(phase)
    assert stepper.waiting is phase
    with qtbot.waitSignal(stepper.engine_requested):
        stepper.forward()
    stepper.back()
    assert stepper.waiting is phase
    selection.go(2)
    assert stepper.waiting is None
    with qtbot.assertNotEmitted(stepper.engine_requested):
        stepper.forward()
    assert stepper.step.name == "root"
    with qtbot.waitSignal(stepper.changed):
        selection.follow()
    assert stepper.waiting is phase


def test_the_round_ends_the_waiting(stepper, selection, turn):
    """No one has to say that the phase is over."""
    stepper.show_phase(Phase(5, "commit", 0, turn.rounds[5].nodes))
    selection.turn.add(turn.rounds[5])
    selection.refresh()
    assert (stepper.waiting, selection.round_index) == (None, 5)


def test_another_turn_ends_the_waiting(stepper, selection, turn):
    """The engine waits in its own turn, not in the one that is looked at."""
    stepper.show_phase(Phase(5, "commit", 0, turn.rounds[5].nodes))
    selection.show_turn(Turn(rounds=turn.rounds[:2]))
    assert stepper.waiting is None


def test_without_rounds_nothing_moves(qapp):
    """Space in an empty window."""
    stepper = Stepper(Selection())
    stepper.forward()
    stepper.back()
    assert (stepper.step, stepper.steps) == (None, ())
