"""Numbers that change while a reply streams move nothing beside them."""

import pytest
from PySide6.QtWidgets import QHBoxLayout, QLabel, QWidget

from app.steady_label import SteadyLabel
from tests.app.counted import layouts


@pytest.fixture
def row(on_screen):
    """A line of text with a number behind it."""
    line = QWidget()
    layout = QHBoxLayout(line)
    line.words, line.number = QLabel("words"), SteadyLabel()
    layout.addWidget(line.words, 1)
    layout.addWidget(line.number)
    line.number.setText("99.0 tokens/s")
    return on_screen(line, 400, 40)


def test_as_many_digits_or_fewer_lay_out_nothing(row, qtbot):
    """Every new number would otherwise lay out the whole window, several times a second."""
    laid_out, place = layouts(row), row.number.geometry()
    for text in ("98.1 tokens/s", "7.2 tokens/s", "11.1 tokens/s"):
        row.number.setText(text)
        qtbot.wait(5)
        assert row.number.text() == text
        assert row.number.geometry() == place
    assert laid_out.count == 0


def test_a_longer_text_is_not_cut(row, qtbot):
    """It gets its room, and keeps it."""
    row.number.setText("1234.5 tokens/s")
    qtbot.waitUntil(lambda: row.number.width() >= row.number.sizeHint().width())
    wide = row.number.width()
    row.number.setText("1 tokens/s")
    qtbot.wait(5)
    assert row.number.width() == wide


def test_another_text_size_asks_for_its_own_room(row, qtbot):
    """Larger letters are not cut, and smaller ones leave no hole."""
    before = row.number.minimumWidth()
    for points, compare in ((20, int.__gt__), (7, int.__lt__)):
        row.number.setStyleSheet(f"font-size: {points}pt;")
        qtbot.waitUntil(lambda: row.number.minimumWidth() == row.number.sizeHint().width())
        assert compare(row.number.minimumWidth(), before)
