from __future__ import annotations

import signal
import threading

import pytest

from app.cli.interrupt import on_interrupt


def test_first_press_asks_second_press_leaves() -> None:
    """A reply stops cleanly; someone who insists gets out."""
    asked = []

    def press_twice() -> None:
        with on_interrupt(lambda: asked.append(1)) as pressed:
            assert not pressed
            signal.raise_signal(signal.SIGINT)
            assert pressed
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        press_twice()
    assert asked == [1]


def test_the_old_behaviour_returns() -> None:
    """At the prompt, Ctrl+C means what it always means."""
    before = signal.getsignal(signal.SIGINT)
    with on_interrupt(lambda: None):
        assert signal.getsignal(signal.SIGINT) is not before
    assert signal.getsignal(signal.SIGINT) is before


def test_another_thread_is_not_in_the_way() -> None:
    """Signals belong to the main thread; elsewhere it does nothing."""
    states = []

    def work() -> None:
        with on_interrupt(lambda: None) as pressed:
            states.append(bool(pressed))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert states == [False]
