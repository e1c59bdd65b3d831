"""What the View menu shows and does; and that a change of the look finds nothing of a window that is gone."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QWidget
from pytestqt.exceptions import capture_exceptions

from app import listeners
from app.theme import theme


def marked(window):
    """The colours that the menu marks when it opens."""
    menu = window.actions_.submenus["theme"]
    menu.aboutToShow.emit()
    return [action.text().replace("&", "") for action in menu.actions() if action.isChecked()]


def test_the_menu_marks_the_colours_that_are_shown(window):
    """They are chosen in the menu, and come back from last time without it."""
    assert marked(window) == ["As the system"]
    theme().set_mode("dark")
    assert marked(window) == ["Dark"]
    window.view_menu._set_mode("light")
    assert marked(window) == ["Light"]


def test_every_entry_has_a_key_letter_of_its_own(window):
    """A menu that is opened by keyboard is chosen from by keyboard. Files and models have the names they have."""
    named = [window.actions_.submenus[name] for name in ("recordings", "installed")]
    left = [action.menu() for action in window.menuBar().actions()]
    while left:
        menu = left.pop()
        left += [action.menu() for action in menu.actions() if action.menu() is not None]
        keys = [action.text().partition("&")[2][:1].lower() for action in menu.actions() if not action.isSeparator()]
        if menu not in named:
            assert "" not in keys
            assert len(set(keys)) == len(keys), menu.title()


def test_only_widgets_hear_of_the_look(window):
    """A widget's children go with it; anything else may hear of a change when what it would change is gone."""
    heard_by = [getattr(known(), "__self__", None) for known in theme().changed._all]
    assert len(heard_by) > 20
    assert [owner for owner in heard_by if not isinstance(owner, QWidget)] == []


def test_a_menu_that_is_gone_is_not_marked(window, qtbot, monkeypatch: pytest.MonkeyPatch):
    """A change of colours reached the menu's owner turns later: an error bar said that a QAction was deleted."""
    monkeypatch.setattr(listeners, "TURN_SECONDS", 1e-9)
    with capture_exceptions() as errors, qtbot.waitSignal(theme().changed.ended):
        theme().set_mode("dark")
        window.actions_.submenus["theme"].clear()  # deletes its actions
    assert errors == []
