"""The row of buttons above the charts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from app.plots.header import PlotHeader
from app.theme import theme

TITLES = {
    "acceptance": "Acceptance length",
    "speed": "Tokens per second",
    "time": "Time per round",
    "depth": "Acceptance by depth",
    "rank": "Acceptance by rank",
}
NARROW = 440  # pixels, in a window 1024 wide


@pytest.fixture
def header(on_screen) -> Iterator[PlotHeader]:
    """As narrow as it gets; a window of its own would not get narrower than its buttons."""
    host = on_screen(QWidget(), 900, 100)
    made = PlotHeader(TITLES, host)
    made.resize(NARROW, 40)
    made.show()
    yield made
    host.close()


def test_no_word_is_cut_at_14_points_in_a_narrow_window(header, qtbot) -> None:
    """“Ac…ce” stood where acceptance was meant."""
    theme().set_font_size(14.0)
    qtbot.wait(20)
    assert header.width() == NARROW
    for button in (*header.buttons.values(), header.export_button):
        assert button.width() >= button.sizeHint().width(), button.text()


def test_words_are_larger_where_there_is_room(header, qtbot) -> None:
    """Small words are for narrow windows only."""
    theme().set_font_size(14.0)
    qtbot.wait(20)
    small = header.export_button.font().pointSizeF()
    header.resize(800, 40)
    assert header.export_button.font().pointSizeF() > small
    header.resize(NARROW, 40)
    assert header.export_button.font().pointSizeF() == small


def test_what_was_clicked_and_chosen_is_told(header, qtbot) -> None:
    """By the chart's name."""
    toggled, wanted = [], []
    header.toggled.connect(toggled.append)
    header.export_wanted.connect(lambda name, kind: wanted.append((name, kind)))
    qtbot.mouseClick(header.buttons["rank"], Qt.MouseButton.LeftButton)
    header.set_shown(["time", "rank"])
    for action in header.export_button.menu().actions():
        action.trigger()
    assert (toggled, header.shown) == (["rank"], ["time", "rank"])
    assert wanted == [(name, kind) for name in TITLES for kind in ("png", "csv")]


def test_every_button_has_a_name(header) -> None:
    """Screen readers read more than one word."""
    names = [button.accessibleName() for button in (*header.buttons.values(), header.export_button)]
    assert names == [*(f"Chart: {title}" for title in TITLES.values()), "Save a chart"]
