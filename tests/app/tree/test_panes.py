"""What is opened beside the tree: together where there is room, one in place of the other where there is not."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QWidget

from app.tree.panes import BOTH_HEIGHT, Panes


@pytest.fixture
def panes(on_screen):
    """In a window of their own."""
    return on_screen(Panes(), 600, BOTH_HEIGHT)


def open_panes(panes: Panes) -> list[QWidget]:
    """Of table and mask, those that are shown."""
    return [pane for pane in (panes.table, panes.mask_pane) if pane.isVisible()]


def test_a_high_window_shows_both(panes):
    """Table above, mask below."""
    panes.header.table_button.click()
    panes.header.mask_button.click()
    assert open_panes(panes) == [panes.table, panes.mask_pane]


def test_a_low_window_shows_one_and_does_not_grow(panes):
    """At 1280 by 800 both were two lines high, and the window grew beyond the screen and stayed so."""
    panes.resize(600, 480)
    before = panes.minimumSizeHint().height()
    panes.header.table_button.click()
    assert open_panes(panes) == [panes.table]
    panes.header.mask_button.click()
    assert open_panes(panes) == [panes.mask_pane]
    assert panes.header.options()["table"] is False
    panes.header.table_button.click()
    assert open_panes(panes) == [panes.table]
    assert panes.header.options()["mask"] is False
    assert panes.minimumSizeHint().height() - before < 60
