"""The checks of `key_checks.py` for tree, table and timeline."""

from __future__ import annotations

import pytest
from PySide6.QtGui import QGuiApplication
from pytestqt.qtbot import QtBot

from app.main_window import MainWindow
from tests.app.key_checks import check, press


@check("Tree and timeline", "Space, Shift+Space")
def _(w: MainWindow, qtbot: QtBot) -> None:
    stepper = w.panels.tree.stepper
    for widget in (w.panels.tree.view, w.panels.tree.timeline):
        w.selection.go(2)
        press(widget, "Space")
        assert stepper.step.name == "root"
        press(widget, "Shift+Space")
        assert w.selection.round_index == 1
        w.selection.go(2)
        stepper.go(len(stepper.steps) - 1)
        w.selection.go(3)


@check("Tree and timeline", ",  .")
def _(w: MainWindow, qtbot: QtBot) -> None:
    for widget in (w.panels.tree.view, w.panels.tree.timeline):
        w.selection.go(2)
        press(widget, ",")
        assert w.selection.round_index == 1
        press(widget, ".")
        assert w.selection.round_index == 2


@check("Tree and timeline", "F")
def _(w: MainWindow, qtbot: QtBot) -> None:
    view = w.panels.tree.view
    view.zoom(3.0)
    assert view.own_zoom
    press(view, "F")
    assert not view.own_zoom


@check("Tree and timeline", "Esc")
def _(w: MainWindow, qtbot: QtBot) -> None:
    for widget in (w.panels.tree.view, w.panels.tree.timeline):
        w.selection.go(2)
        press(widget, "Escape")
        assert w.selection.live


@check("Tree and timeline", "Arrow keys")
def _(w: MainWindow, qtbot: QtBot) -> None:
    view = w.panels.tree.view
    w.selection.go(2)
    press(view, "Right")
    assert view.tree.marked("current") is not None
    press(w.panels.tree.timeline, "Left")
    assert w.selection.round_index == 1


@check("Tree and timeline", "Home, End")
def _(w: MainWindow, qtbot: QtBot) -> None:
    view, timeline = w.panels.tree.view, w.panels.tree.timeline
    rounds = w.selection.turn.rounds if w.selection.turn else []
    w.selection.go(next(i for i, r in enumerate(rounds) if r.accepted))
    press(view, "End")
    last = view.tree.marked("current")
    press(view, "Home")
    assert view.tree.marked("current") not in (None, last)
    press(timeline, "Home")
    assert w.selection.round_index == 0
    press(timeline, "End")
    assert w.selection.round_index == w.selection.count - 1


@check("Tree and timeline", "Page Up, Page Down")
def _(w: MainWindow, qtbot: QtBot) -> None:
    w.selection.go(0)
    press(w.panels.tree.timeline, "PgDown")
    assert w.selection.round_index == min(10, w.selection.count - 1)
    press(w.panels.tree.timeline, "PgUp")
    assert w.selection.round_index == 0


@check("Tree and timeline", "Enter")
def _(w: MainWindow, qtbot: QtBot) -> None:
    w.selection.go(2)
    press(w.panels.tree.view, "Right")
    press(w.panels.tree.view, "Return")
    assert w.selection.pinned[0] == 2


@check("Tree and timeline", "+  -")
def _(w: MainWindow, qtbot: QtBot) -> None:
    view = w.panels.tree.view
    before = view.scale_now
    press(view, "+")
    assert view.scale_now > before
    press(view, "-")
    assert view.scale_now == pytest.approx(before)


@check("Tree and timeline", "Ctrl+wheel")
def _(w: MainWindow, qtbot: QtBot) -> None:
    """The mouse's business: `tests/app/tree/test_view.py`."""


@check("Tree and timeline", "Ctrl+C")
def _(w: MainWindow, qtbot: QtBot) -> None:
    w.selection.go(2)
    w.panels.tree.header.table_button.click()
    table = w.panels.tree.table.view
    press(table, "Down")
    press(table, "Ctrl+C")
    assert QGuiApplication.clipboard().text() == w.panels.tree.table.model.row_text(table.currentIndex())
