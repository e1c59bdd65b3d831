"""The look: roles exist in both modes, can be read, and reach the application."""

from itertools import combinations

import numpy as np
import pytest
from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import QToolTip, QWidget

from app import listeners
from app import theme as look
from app.theme import Theme, contrast, theme


@pytest.fixture
def shown(qapp):
    """The application's theme, put back to light afterwards."""
    yield theme()
    theme().set_font_size(look.FONT_SIZE_DEFAULT)
    theme().set_mode("system")


def test_both_modes_have_the_same_roles():
    """A role missing in one mode would crash the window only for some users."""
    assert look.LIGHT.keys() == look.DARK.keys()
    assert look.FATES.keys() == look.FATE_INK_LIGHT.keys() == look.FATE_INK_DARK.keys()


@pytest.mark.parametrize("colors", [look.LIGHT, look.DARK], ids=["light", "dark"])
@pytest.mark.parametrize("ground", ["window", "surface", "raised", "accent_soft", "code"])
@pytest.mark.parametrize("role", ["text", "muted"])
def test_text_is_readable_on_every_ground(colors, ground, role):
    """WCAG AA asks 4.5:1 for text."""
    assert contrast(QColor(colors[role]), QColor(colors[ground])) >= 4.5


@pytest.mark.parametrize("colors", [look.LIGHT, look.DARK], ids=["light", "dark"])
@pytest.mark.parametrize("role", ["accent", "danger", "warning", "success"])
def test_signal_colours_are_readable(colors, role):
    """Messages in a signal colour are text too."""
    for ground in ("window", "surface"):
        assert contrast(QColor(colors[role]), QColor(colors[ground])) >= 4.5


@pytest.mark.parametrize("colors", [look.LIGHT, look.DARK], ids=["light", "dark"])
def test_pairs_are_readable(colors):
    """Text on a coloured button and on a highlighted word."""
    assert contrast(QColor(colors["on_accent"]), QColor(colors["accent"])) >= 4.5
    assert contrast(QColor(colors["on_highlight"]), QColor(colors["highlight"])) >= 4.5


@pytest.mark.parametrize(
    ("inks", "colors"), [(look.FATE_INK_LIGHT, look.LIGHT), (look.FATE_INK_DARK, look.DARK)], ids=["light", "dark"]
)
def test_fate_inks_are_readable(inks, colors):
    """Okabe-Ito orange and sky are too pale for words on white, so words use the inks."""
    for fate, ink in inks.items():
        for ground in ("window", "surface", "raised"):
            assert contrast(QColor(ink), QColor(colors[ground])) >= 4.5, (fate, ground)


def test_fates_are_okabe_ito(shown):
    """The colour-blind safe palette is promised by the design, in both modes."""
    for mode in ("light", "dark"):
        shown.set_mode(mode)
        names = [shown.fate(f).name().upper() for f in ("accepted", "rejected", "bonus", "drafted")]
        assert names == ["#0072B2", "#D55E00", "#E69F00", "#56B4E9"]


# What a colour-blind eye sees, as matrices on linear RGB (Machado, Oliveira and Fernandes 2009, severity 1).
SIGHTS = {
    "all colours": [1, 0, 0, 0, 1, 0, 0, 0, 1],
    "no green": [0.367, 0.861, -0.228, 0.280, 0.673, 0.047, -0.012, 0.043, 0.969],
    "no red": [0.152, 1.053, -0.205, 0.115, 0.786, 0.099, -0.004, -0.048, 1.052],
    "no blue": [1.256, -0.077, -0.179, -0.078, 0.931, 0.148, 0.005, 0.691, 0.304],
}
TIMES = pytest.mark.parametrize(
    ("times", "colors"), [(look.TIMES_LIGHT, look.LIGHT), (look.TIMES_DARK, look.DARK)], ids=["light", "dark"]
)


def seen(color, sight):
    """CIE L*a*b* of a colour as that eye sees it, [3]."""
    rgb = np.array([QColor(color).redF(), QColor(color).greenF(), QColor(color).blueF()])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    linear = np.clip(np.reshape(SIGHTS[sight], (3, 3)) @ linear, 0, 1)
    xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]) @ linear
    x, y, z = np.cbrt(np.maximum(xyz / [0.9505, 1, 1.0888], 0.008856))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@TIMES
def test_times_stand_out_from_the_ground(times, colors):
    """WCAG asks 3:1 for what must be seen to read a chart."""
    for part, color in times.items():
        assert contrast(QColor(color), QColor(colors["surface"])) >= 3, part


@TIMES
@pytest.mark.parametrize("sight", SIGHTS)
def test_times_differ_for_every_eye(times, colors, sight):
    """Draft and verify lie on each other in every bar; pink and green alone are one colour to many."""
    for first, second in combinations(times, 2):
        assert np.linalg.norm(seen(times[first], sight) - seen(times[second], sight)) >= 15, (first, second)


@TIMES
def test_times_are_no_fates(times, colors):
    """Blue must not mean “accepted” in the tree and “verify” in the bar below it."""
    for part, color in times.items():
        for fate, other in look.FATES.items():
            assert np.linalg.norm(seen(color, "all colours") - seen(other, "all colours")) >= 25, (part, fate)


def test_times_follow_the_mode(shown):
    """The same four names in both modes."""
    assert look.TIMES_LIGHT.keys() == look.TIMES_DARK.keys()
    for mode, times in (("dark", look.TIMES_DARK), ("light", look.TIMES_LIGHT)):
        shown.set_mode(mode)
        assert {part: shown.time(part).name().upper() for part in times} == times


def test_one_theme_per_application(shown, qapp):
    """Everybody must get the same object, or a change would reach half of the window."""
    assert theme() is shown
    assert len(qapp.findChildren(Theme)) == 1


def test_mode_reaches_palette_and_signal(shown, qapp, qtbot):
    """Choosing dark must repaint palette-painted and self-painted widgets alike."""
    with qtbot.waitSignal(shown.changed):
        shown.set_mode("dark")
    assert shown.dark
    assert qapp.palette().color(QPalette.ColorRole.Base).name() == look.DARK["surface"]
    shown.set_mode("light")
    assert not shown.dark
    assert qapp.palette().color(QPalette.ColorRole.Base).name() == look.LIGHT["surface"]


def test_unknown_system_scheme_is_light(shown):
    """Offscreen and some desktops do not tell their scheme."""
    shown.set_mode("system")
    assert not shown.dark


def test_font_size_is_kept_in_bounds(shown, qapp):
    """A repeated Ctrl+Plus must not make the window unusable."""
    shown.set_font_size(400)
    assert shown.font_size == look.FONT_SIZE_MAX
    shown.set_font_size(12)
    assert qapp.font().pointSizeF() == pytest.approx(12)
    assert shown.font(0.5).pointSizeF() == pytest.approx(6)


def test_the_application_has_no_style_sheet(shown, qapp):
    """With one, every change of colours polishes every widget anew: 0.25 s of 0.4 in a window with a chat."""
    shown.set_mode("dark")
    assert qapp.styleSheet() == ""
    assert QToolTip.palette().color(QPalette.ColorRole.ToolTipBase) == shown.color("raised")


def test_the_window_is_drawn_once_for_a_change_of_its_look(qtbot, shown, monkeypatch):
    """Parts are told one after the other; a picture of the whole window after each held it for longer than they did."""
    monkeypatch.setattr(listeners, "TURN_SECONDS", 1e-9)
    pictures = []

    class Window(QWidget):
        def paintEvent(self, event):  # noqa: N802
            pictures.append(len(heard))

    window, heard = Window(), []
    qtbot.addWidget(window)
    with qtbot.waitExposed(window):
        window.show()
    qtbot.waitUntil(lambda: bool(pictures))
    pictures.clear()
    listening = [lambda: (heard.append(1), window.update()) for _ in range(5)]
    for call in listening:
        theme().changed.connect(call)
    theme().set_mode("dark")
    qtbot.waitUntil(lambda: bool(pictures))
    for call in listening:
        theme().changed.disconnect(call)
    assert pictures == [5]
