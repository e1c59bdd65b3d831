"""The bottom line: true numbers, their definition, and a reason whenever something is missing."""

from dataclasses import replace

import pytest

from app.progress_words import amount
from app.status import StatusLine
from app.theme import theme
from engine import Progress, Turn
from tests.fake_turn import fake_turn


@pytest.fixture
def status(qtbot):
    """An empty status line."""
    line = StatusLine()
    qtbot.addWidget(line)
    return line


def test_nothing_is_shown_for_nothing(status):
    """Dashes everywhere would look broken."""
    assert status.tau.isHidden()
    assert status.strategy.isHidden()


def test_numbers_of_a_turn(status):
    """The same as the record's own counts."""
    turn = fake_turn(1)
    status.show_turn(turn, mine=True)
    status.set_plain(8.0)
    stats = turn.stats()
    assert status.tau.text() == f"τ {stats.tau:.2f}"
    assert status.speed.text() == f"{stats.tokens_per_second:.1f} tokens/s"
    assert status.gain.text() == f"{stats.tokens_per_second * 8 / 1000:.2f}× plain"
    assert status.context.text() == f"context {turn.start.prompt_tokens + len(turn.tokens)} / 2048"
    assert status.strategy.text() == "EAGLE-3 tree"
    assert "bonus" in status.tau.toolTip()


def test_growing_turn_is_counted_once(status):
    """Refreshed 30 times a second; every round counts once."""
    turn = fake_turn(1)
    growing = Turn(start=turn.start, prefill=turn.prefill)
    status.show_turn(growing)
    for shown in turn.rounds:
        growing.add(shown)
        status.refresh()
        status.refresh()
    assert status.tau.text() == f"τ {turn.stats().tau:.2f}"


def test_plain_says_why(status):
    """Silently off is the most common complaint about speculation."""
    turn = fake_turn(1, strategy="plain")
    turn.start = replace(turn.start, reason="this model has no draft head.")
    status.show_turn(turn)
    assert status.strategy.text() == "plain: this model has no draft head."


def test_slower_than_plain_is_said(status):
    """A speed-up below 1 in a tooltip of praise would be a lie."""
    status.show_turn(fake_turn(1), mine=True)
    status.set_plain(1.0)
    assert "costs more than it saves" in status.gain.toolTip()


def test_without_calibration_there_is_a_reason(status):
    """Nothing is estimated."""
    status.show_turn(fake_turn(1), mine=True)
    status.set_plain(None, "no model is loaded")
    assert status.gain.text() == "speed-up –"
    assert "no model is loaded" in status.gain.toolTip()


def test_recordings_from_elsewhere_are_not_compared_with_this_machine(status):
    """Their speed was another machine's."""
    status.set_plain(8.0)
    status.show_turn(fake_turn(1), mine=False)
    assert status.gain.isHidden()


def test_before_the_first_round(status):
    """A prompt that is being read has no speed yet."""
    turn = fake_turn(1)
    status.show_turn(Turn(start=turn.start), mine=True)
    assert (status.tau.text(), status.speed.text()) == ("τ –", "– tokens/s")


def test_progress_and_cancel(status, qtbot):
    """Real amounts, and a way out."""
    status.set_progress(Progress("Downloading the model", 34_000_000, 93_000_000, "B"))
    assert status.state.text() == "Downloading the model  34 of 93 MB"
    assert status.bar.value() == 365
    with qtbot.waitSignal(status.cancel_requested):
        status.cancel.click()
    status.set_progress(Progress("Waiting", 0, 0))
    assert status.bar.maximum() == 0
    status.set_state("Ready")
    assert status.bar.isHidden()


@pytest.mark.parametrize(
    ("progress", "words"),
    [
        (Progress("x", 3, 30), "3 of 30"),
        (Progress("x", 0, 0), ""),
        (Progress("x", 0, 1), ""),
        (Progress("x", 1, 2), ""),
        (Progress("x", 12_000_000, 0, "B"), "12 MB"),
    ],
)
def test_amounts(progress, words):
    """Bytes in MB, steps as they are, nothing where nothing is known or too few to count."""
    assert amount(progress) == words


def test_colours_follow_the_theme(qtbot):
    """Text coloured for a light window cannot be read on a dark one."""
    from app.theme import theme

    bar = StatusLine()
    qtbot.addWidget(bar)
    bar.show_turn(fake_turn(1))
    before, mode = bar.strategy.styleSheet(), theme().mode
    theme().set_mode("dark" if not theme().dark else "light")
    try:
        assert bar.strategy.styleSheet() != before
    finally:
        theme().set_mode(mode)


def test_the_line_is_as_high_with_progress_as_without(qtbot, status):
    """Cancel comes and goes while a model loads; the whole window must not jump by it."""
    status.set_state("Starting the engine…")
    before = status.sizeHint().height()
    status.set_progress(Progress("Loading", 1, 4))
    assert status.sizeHint().height() == before


def test_a_strategy_chosen_while_it_runs_is_said(status):
    """A change acts at the next round; the line must not go on naming the old one."""
    turn = fake_turn(1, rounds=4)
    plain = [replace(r, settings=replace(r.settings, strategy="plain")) for r in turn.rounds]
    turn.start = replace(turn.start, reason="")
    status.show_turn(Turn(turn.start, turn.prefill, turn.rounds[:2] + plain[2:3]))
    assert status.strategy.text() == "plain decoding"
    status.show_turn(Turn(turn.start, turn.prefill, [*plain[:2], turn.rounds[2]]))
    assert status.strategy.text() == "EAGLE-3 tree"


def test_plain_decoding_is_not_measured_against_itself(status):
    """“0.94× plain: speculation costs more than it saves” beside a reply that did not speculate."""
    status.set_plain(8.0)
    status.show_turn(fake_turn(1, strategy="plain"), mine=True)
    assert status.gain.isHidden()
    status.show_turn(fake_turn(1), mine=True)
    assert not status.gain.isHidden()


def test_coloured_numbers_follow_the_text_size(status, qtbot):
    """Qt leaves what has a style sheet at the old size: half of the line would stay small."""
    status.show_turn(fake_turn(1), mine=True)
    status.set_plain(8.0)
    with qtbot.waitExposed(status):
        status.show()
    for size in (15.0, 9.0):
        theme().set_font_size(size)
        labels = status.strategy, status.gain, status.tau
        qtbot.waitUntil(lambda s=size, found=labels: {label.font().pointSizeF() for label in found} == {s})
