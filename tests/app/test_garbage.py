"""What is looked through for garbage, and when."""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Iterator

import pytest
from PySide6.QtCore import Qt

from app import garbage
from app.garbage import MOST, YOUNG, Garbage


class Circle:
    """Garbage, once nobody else holds it."""

    def __init__(self) -> None:
        self.me = self


@pytest.fixture
def busy() -> list[bool]:
    """Whether a reply is being computed."""
    return [False]


@pytest.fixture
def made(qapp, busy: list[bool]) -> Iterator[Garbage]:
    """It has begun."""
    made = Garbage(lambda: busy[0])
    made.begin()
    yield made
    made.end()
    made.deleteLater()
    gc.freeze()


def old_circle() -> weakref.ref[Circle]:
    """Garbage that was alive when the newest objects were looked through."""
    circle = Circle()
    gc.collect(0)
    return weakref.ref(circle)


def test_python_itself_looks_through_the_newest_only(made: Garbage) -> None:
    """Older ones took 47 ms in the middle of a reply, with the main thread or without."""
    seen: list[int] = []

    def note(phase: str, about: dict[str, int]) -> None:
        seen.append(about["generation"])

    gc.callbacks.append(note)
    kept = [[n] for n in range(YOUNG * 25)]
    gc.callbacks.remove(note)
    assert len(kept) == YOUNG * 25
    assert seen
    assert set(seen) <= ({0} if sys.version_info < (3, 14) else {0, 1})  # 1 takes a part of the old ones there


def test_the_rest_goes_while_nothing_is_computed(made: Garbage, busy: list[bool]) -> None:
    """Closed chats and what hung on them."""
    circle, busy[0] = old_circle(), True
    made.look()
    assert circle() is not None
    busy[0] = False
    made.look()
    assert circle() is None


def test_too_much_waits_until_the_user_is_elsewhere(
    made: Garbage, busy: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half a second of looking would be felt; and it must not be put off for good."""
    circle = old_circle()
    for _ in range(MOST):
        gc.collect(0)
    made.look()
    assert circle() is not None
    later = old_circle()
    made.look()  # goes on with what is new
    assert later() is None
    monkeypatch.setattr(garbage, "ALL_SECONDS", 0.0)
    made._state_changed(Qt.ApplicationState.ApplicationActive)
    busy[0] = True
    made._state_changed(Qt.ApplicationState.ApplicationInactive)
    assert circle() is not None
    busy[0] = False
    made._state_changed(Qt.ApplicationState.ApplicationInactive)
    assert circle() is None


def test_it_is_left_to_python_afterwards(made: Garbage) -> None:
    """Whoever imports the window keeps what was set before."""
    made.end()
    assert gc.get_threshold()[1] < 1000
