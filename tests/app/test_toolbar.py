"""The toolbar: its words are whole at every text size."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMainWindow, QMenu, QStyle, QStyleOptionComboBox, QWidget

from app.actions import Actions
from app.engine_settings import EngineSettings
from app.theme import theme
from app.toolbar import BUTTONS, STRATEGY_NAMES, MainToolBar


@pytest.fixture
def toolbar(qtbot):
    """In a window of its own."""
    host = QMainWindow()
    qtbot.addWidget(host)
    toolbar = MainToolBar(Actions(host, host.menuBar()), EngineSettings(host), QMenu(host), host)
    host.addToolBar(toolbar)
    host.setCentralWidget(QWidget())
    host.resize(1600, 300)
    with qtbot.waitExposed(host):
        host.show()
    toolbar.set_strategies(dict.fromkeys(STRATEGY_NAMES, ""))
    yield toolbar
    host.close()


def shown_width(box):
    """Pixels that the box has for its words."""
    option = QStyleOptionComboBox()
    box.initStyleOption(option)
    field = box.style().subControlRect(
        QStyle.ComplexControl.CC_ComboBox, option, QStyle.SubControl.SC_ComboBoxEditField, box
    )
    return field.width()


@pytest.mark.parametrize("name", ["strategy", "pace"])
def test_a_box_shows_its_words_at_every_text_size(toolbar, qtbot, name):
    """At 14 points “EAGLE-3 tree” was cut: the box kept the width of the smaller text."""
    box = getattr(toolbar, name)
    for size in (14.0, 20.0, 9.0, 14.0):
        theme().set_font_size(size)
        qtbot.wait(20)
        widest = max(box.fontMetrics().horizontalAdvance(box.itemText(i)) for i in range(box.count()))
        assert shown_width(box) >= widest, size


def test_nothing_leaves_the_bar_while_buttons_can_do_without_words(toolbar, qtbot):
    """At 14 points in a window 1024 wide the pace and “Step the engine” were in the menu only."""
    toolbar.set_model("SmolLM2-135M", "")
    parts = [toolbar.widgetForAction(action) for action in toolbar.actions()]
    for width, size, words in ((1600, 14.0, True), (1024, 14.0, False), (1024, 9.0, True), (1024, 14.0, False)):
        theme().set_font_size(size)
        toolbar.window().resize(width, 300)
        qtbot.waitUntil(lambda width=width: toolbar.width() == width)
        qtbot.wait(20)
        assert all(part.isVisible() for part in parts), (width, size)
        icons = [b.toolButtonStyle() == Qt.ToolButtonStyle.ToolButtonIconOnly for b in toolbar.buttons.values()]
        assert icons == [not words and name in BUTTONS for name in toolbar.buttons], (width, size)
    assert all(button.toolTip() for button in toolbar.buttons.values())
