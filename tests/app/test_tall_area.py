"""A column that scrolls where it must, and what it tells the layouts around it."""

import pytest
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QVBoxLayout, QWidget

from app.tall_area import TallArea
from tests.app.counted import layouts


@pytest.fixture
def outer(on_screen):
    """The area in a layout."""
    content = QWidget()
    box = QVBoxLayout(content)
    whole = QWidget()
    whole.title, whole.tall = QLabel("one"), QWidget()
    whole.title.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
    box.addWidget(whole.title)
    box.addWidget(whole.tall, 1)
    whole.area = TallArea(content, "Things")
    QHBoxLayout(whole).addWidget(whole.area)
    return on_screen(whole, 300, 200)


def test_words_inside_lay_out_nothing_outside(outer, qtbot):
    """The title of the tree changes while a reply streams; the window need not be laid out for it."""
    inside, outside = layouts(outer.area.widget()), layouts(outer)
    outer.title.setText("another title, longer than the first")
    qtbot.waitUntil(lambda: inside.count > 0)
    qtbot.wait(5)
    assert outside.count == 0


def test_a_content_that_needs_more_is_heard(outer, qtbot):
    """A part that is shown on demand makes the column wider at once."""
    before = outer.minimumSizeHint().width()
    outer.tall.setMinimumSize(280, 400)
    qtbot.waitUntil(lambda: outer.minimumSizeHint().width() > before)
    assert outer.area.minimumSizeHint().width() >= 280
