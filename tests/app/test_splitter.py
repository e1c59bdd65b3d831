"""Borders between the parts are for everybody, not only for those with a mouse."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from app.splitter import LEAP, STEP, Splitter
from app.theme import theme


def made(qtbot, orientation):
    """A splitter of two parts, half and half, with its border."""
    splitter = Splitter(orientation)
    qtbot.addWidget(splitter)
    for _ in range(2):
        part = QWidget()
        part.setMinimumSize(100, 100)
        splitter.addWidget(part)
    splitter.setChildrenCollapsible(False)
    splitter.resize(600, 600)
    splitter.setSizes([300, 300])
    splitter.name_borders("left part", "right part")
    with qtbot.waitExposed(splitter):
        splitter.show()
    return splitter, splitter.handle(1)


def test_arrows_move_a_border(qtbot):
    """As far as the parts allow; the arrows of the other direction do nothing."""
    splitter, border = made(qtbot, Qt.Orientation.Horizontal)
    before = splitter.sizes()[0]
    qtbot.keyClick(border, Qt.Key.Key_Right)
    assert splitter.sizes()[0] == before + STEP
    qtbot.keyClick(border, Qt.Key.Key_Left)
    qtbot.keyClick(border, Qt.Key.Key_Down)
    assert splitter.sizes()[0] == before
    for _ in range(40):
        qtbot.keyClick(border, Qt.Key.Key_Left)
    assert splitter.sizes()[0] == 100


def test_a_border_between_above_and_below_leaps(qtbot):
    """A window is high: Page Up and Down are quicker."""
    splitter, border = made(qtbot, Qt.Orientation.Vertical)
    before = splitter.sizes()[0]
    qtbot.keyClick(border, Qt.Key.Key_PageUp)
    qtbot.keyClick(border, Qt.Key.Key_Down)
    assert splitter.sizes()[0] == before - LEAP + STEP


def test_a_border_shows_the_focus_and_has_a_name(qtbot):
    """Tab reaches it, a click does not take the focus from what is being written."""
    splitter, border = made(qtbot, Qt.Orientation.Horizontal)
    assert border.accessibleName() == "Border between left part and right part"
    assert border.focusPolicy() == Qt.FocusPolicy.TabFocus
    splitter.activateWindow()
    border.setFocus(Qt.FocusReason.TabFocusReason)
    qtbot.waitUntil(border.hasFocus)
    image = border.grab().toImage()
    assert image.pixelColor(image.width() // 2, image.height() // 2) == theme().color("accent")
