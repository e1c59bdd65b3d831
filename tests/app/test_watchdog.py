"""The measuring device itself: it must see a block, and say where."""

import time

import pytest

from app.watchdog import Watchdog


@pytest.mark.alone
def test_sees_a_block_and_where_it_was(qtbot):
    """A watchdog that sleeps with its owner would approve everything."""
    dog = Watchdog()
    dog.start()
    qtbot.wait(30)
    dog.reset()
    time.sleep(0.15)
    dog.stop()
    assert 130 <= dog.longest_ms < 600
    assert "time.sleep(0.15)" in dog.blocks[0][1]
    assert "time.sleep(0.15)" in dog.report()


@pytest.mark.alone
def test_quiet_loop_reports_little(qtbot):
    """An idle event loop must not look blocked."""
    dog = Watchdog()
    dog.start()
    qtbot.wait(120)
    dog.stop()
    assert dog.longest_ms < 100


def test_stop_twice_is_harmless(qapp):
    """The window stops it on every way out."""
    dog = Watchdog()
    dog.start()
    dog.stop()
    dog.stop()
    assert dog.longest_ms >= 0
