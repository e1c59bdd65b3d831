"""Waits are stretched while the engine needs every processor, and only then."""

from __future__ import annotations

import time
from types import SimpleNamespace

import pytest

from app import pace as module
from app.pace import FIRST, MOST, Pace


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Wall time and the thread's own time, set by hand; two processors."""
    now = SimpleNamespace(wall=100.0, own=1.0)
    monkeypatch.setattr(time, "perf_counter", lambda: now.wall)
    monkeypatch.setattr(time, "thread_time", lambda: now.own)
    monkeypatch.setattr(module, "processors", lambda: 2)
    return now


def spend(pace: Pace, clock: SimpleNamespace, share: float, looks: int) -> None:
    """Use this share of a processor for a while."""
    for _ in range(looks):
        clock.wall += 0.3
        clock.own += 0.3 * share
        pace.look()


def test_dear_drawing_is_done_more_rarely_up_to_a_limit(clock: SimpleNamespace) -> None:
    """Every millisecond of drawing is taken from a pass that needs all processors."""
    pace = Pace()
    pace.set_threads(2)
    pace.set_busy(True)
    assert pace.interval(100) == round(100 * FIRST)
    spend(pace, clock, 0.5, 20)
    assert pace.interval(100) == round(100 * MOST)


def test_cheap_drawing_comes_back_to_the_usual_rate(clock: SimpleNamespace) -> None:
    """A small window, a fast machine."""
    pace = Pace()
    pace.set_threads(2)
    pace.set_busy(True)
    spend(pace, clock, 0.5, 20)
    spend(pace, clock, 0.01, 20)
    assert pace.interval(100) == 100


def test_a_time_without_drawing_says_nothing_about_its_cost(clock: SimpleNamespace) -> None:
    """After a long prompt the first words must not be drawn as if the engine needed nothing."""
    pace = Pace()
    pace.set_threads(2)
    pace.set_busy(True)
    spend(pace, clock, 0.5, 20)
    spend(pace, clock, 0.001, 20)
    assert pace.interval(100) == round(100 * MOST)


def test_nothing_waits_longer_while_the_engine_rests(clock: SimpleNamespace) -> None:
    """Looking through a recorded run must be smooth."""
    pace = Pace()
    pace.set_threads(2)
    assert pace.interval(100) == 100
    pace.set_busy(True)
    pace.set_busy(False)
    assert pace.interval(100) == 100


def test_with_processors_to_spare_drawing_is_free(clock: SimpleNamespace) -> None:
    """A fifth of a processor that nobody else wants."""
    pace = Pace()
    pace.set_threads(1)
    pace.set_busy(True)
    spend(pace, clock, 0.2, 20)
    assert pace.interval(100) == 100


def test_an_engine_that_does_not_say_may_need_all(clock: SimpleNamespace) -> None:
    """Recorded runs and other engines."""
    pace = Pace()
    pace.set_threads(0)
    pace.set_busy(True)
    assert pace.interval(100) > 100
