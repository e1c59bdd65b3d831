from __future__ import annotations

import pytest
from PySide6.QtWidgets import QLabel, QWidget

from app import first_paint
from app.first_paint import FirstPaint
from tests.app.counted import paintings


def test_it_comes_once_and_after_everything_was_painted(qtbot) -> None:
    """The engine's import must not begin while the first picture is made: it made that 0.6 s later."""
    window = QWidget()
    qtbot.addWidget(window)
    painted = paintings(QLabel("words", window))
    found: list[int] = []
    first = FirstPaint(window)
    first.done.connect(lambda: found.append(painted.count))
    window.show()
    qtbot.waitUntil(lambda: bool(found), timeout=5000)
    window.repaint()
    qtbot.wait(20)
    assert len(found) == 1
    assert found[0] >= 1


def test_a_window_that_is_never_painted_starts_as_well(qtbot, monkeypatch: pytest.MonkeyPatch) -> None:
    """A minimised window is not painted; its model must load all the same."""
    monkeypatch.setattr(first_paint, "PATIENCE_MS", 20)
    window = QWidget()
    qtbot.addWidget(window)
    with qtbot.waitSignal(FirstPaint(window).done, timeout=2000):
        pass
