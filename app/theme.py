"""Colours by role, fonts and spacing, light and dark. Knows no widget: widgets ask for a role and listen to `changed`.

Use: `theme().color("muted")`, `theme().fate("accepted")`, `theme().changed.connect(self.restyle)`.
"""

from __future__ import annotations

from typing import Literal

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QColor, QFont, QFontDatabase, QPalette
from PySide6.QtWidgets import QApplication, QToolTip
from shiboken6 import isValid

from app.held_pictures import HeldPictures
from app.listeners import Listeners

Mode = Literal["system", "light", "dark"]
Fate = Literal["accepted", "rejected", "bonus", "drafted", "pruned"]

# Spacing in device-independent pixels; use these and nothing else between widgets.
GAP_TINY, GAP_SMALL, GAP, GAP_LARGE = 2, 4, 8, 16
RADIUS = 6
FONT_SIZE_DEFAULT, FONT_SIZE_MIN, FONT_SIZE_MAX = 10.5, 7.0, 24.0  # points

LIGHT: dict[str, str] = {
    "window": "#f4f5f7",  # behind everything
    "surface": "#ffffff",  # where reading happens: conversation, tree, plots, text fields
    "raised": "#e9ecf0",  # buttons, headers, cards on a surface
    "hover": "#dde2e8",
    "text": "#1b1f24",
    "muted": "#525b66",  # second-rank text
    "line": "#c9d0d8",  # borders, grid
    "accent": "#0b63a8",  # focus, links, the one main button
    "on_accent": "#ffffff",
    "accent_soft": "#dcebf8",  # the user's messages, selected rows
    "highlight": "#ffe08a",  # the linked round, search hits
    "on_highlight": "#1b1f24",
    "code": "#eff1f4",  # behind code
    "danger": "#b42318",
    "warning": "#8a5a00",
    "success": "#1a6f37",
}
DARK: dict[str, str] = {
    "window": "#16181b",
    "surface": "#1d2024",
    "raised": "#2a2e34",
    "hover": "#363c44",
    "text": "#e8eaed",
    "muted": "#a7afb9",
    "line": "#414851",
    "accent": "#5bb0ee",
    "on_accent": "#0c1b28",
    "accent_soft": "#1f3a52",
    "highlight": "#6b5410",
    "on_highlight": "#fff4d6",
    "code": "#272b31",
    "danger": "#ff9c90",
    "warning": "#e9b44c",
    "success": "#6fce8b",
}
# Okabe-Ito, the same in both modes: strokes and fills, always doubled by a shape or a dash.
FATES: dict[Fate, str] = {
    "accepted": "#0072B2",
    "rejected": "#D55E00",
    "bonus": "#E69F00",
    "drafted": "#56B4E9",
    "pruned": "#808080",
}
# The same hues where words or hairlines are drawn with them: at least 4.5:1 on every background.
FATE_INK_LIGHT: dict[Fate, str] = {
    "accepted": "#005d93",
    "rejected": "#a84700",
    "bonus": "#7d5600",
    "drafted": "#1a6590",
    "pruned": "#5c5c5c",
}
FATE_INK_DARK: dict[Fate, str] = {
    "accepted": "#6cbcf0",
    "rejected": "#ff9b57",
    "bonus": "#f2b533",
    "drafted": "#86cbf2",
    "pruned": "#a8a8a8",
}
# Parts of a round's time, stacked in this order: Okabe-Ito's purple, green and yellow, and a grey; by mode lighter or
# darker, so that they stand out from the ground and from each other. None means what a fate means.
TIMES_LIGHT: dict[str, str] = {"draft": "#CC79A7", "verify": "#007A57", "commit": "#A08E00", "host": "#333333"}
TIMES_DARK: dict[str, str] = {"draft": "#DE93BC", "verify": "#00875F", "commit": "#F0E442", "host": "#E4E4E4"}


def contrast(first: QColor, second: QColor) -> float:
    """Contrast ratio of two opaque colours, 1 to 21 (WCAG 2.1, relative luminance)."""

    def luminance(color: QColor) -> float:
        channels = (color.redF(), color.greenF(), color.blueF())
        linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((luminance(first), luminance(second)), reverse=True)
    return (high + 0.05) / (low + 0.05)


class Theme(QObject):
    """The application's look: one per QApplication, reached with `theme()`.

    Attributes:
        changed: tells that colours or font size changed: repaint what is not painted by the palette.
    """

    def __init__(self, app: QApplication) -> None:
        super().__init__(app)
        self.changed = Listeners(self)
        self._pictures = HeldPictures(self)
        self.changed.ended.connect(self._pictures.release)
        self._app = app
        self._mode: Mode = "system"
        self._font_size = FONT_SIZE_DEFAULT
        app.setStyle("Fusion")
        app.styleHints().colorSchemeChanged.connect(self._system_changed)
        self._apply()

    @property
    def mode(self) -> Mode:
        """What the user chose."""
        return self._mode

    @property
    def dark(self) -> bool:
        """Whether dark colours are shown; a system that does not say is taken as light."""
        if self._mode == "system":
            return self._app.styleHints().colorScheme() == Qt.ColorScheme.Dark
        return self._mode == "dark"

    def set_mode(self, mode: Mode) -> None:
        """Follow the system, or stay light or dark."""
        if mode == self._mode:
            return
        self._mode = mode
        schemes = {"system": Qt.ColorScheme.Unknown, "light": Qt.ColorScheme.Light, "dark": Qt.ColorScheme.Dark}
        self._app.styleHints().setColorScheme(schemes[mode])
        self._apply()

    @property
    def font_size(self) -> float:
        """Body text, in points."""
        return self._font_size

    def set_font_size(self, points: float) -> None:
        """Set the body text size, kept within FONT_SIZE_MIN and FONT_SIZE_MAX."""
        points = min(max(points, FONT_SIZE_MIN), FONT_SIZE_MAX)
        if points != self._font_size:
            self._font_size = points
            self._apply()

    def pixels(self, pixels: int) -> int:
        """As many pixels as hold the same words at the present size as `pixels` do at the default one."""
        return round(pixels * self._font_size / FONT_SIZE_DEFAULT)

    def color(self, role: str) -> QColor:
        """The colour of a role (the keys of LIGHT)."""
        return QColor((DARK if self.dark else LIGHT)[role])

    def fate(self, fate: Fate) -> QColor:
        """Stroke or fill of a node or token by how it ended (Okabe-Ito)."""
        return QColor(FATES[fate])

    def fate_ink(self, fate: Fate) -> QColor:
        """The same hue, readable as text or hairline on the present background."""
        return QColor((FATE_INK_DARK if self.dark else FATE_INK_LIGHT)[fate])

    def time(self, part: str) -> QColor:
        """Fill of a part of a round's time: draft, verify, commit, host."""
        return QColor((TIMES_DARK if self.dark else TIMES_LIGHT)[part])

    def font(self, scale: float = 1.0, *, bold: bool = False, mono: bool = False) -> QFont:
        """Body font times `scale`; `mono` for code, ids and numbers in columns."""
        font = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont) if mono else QFont(self._app.font())
        font.setPointSizeF(self._font_size * scale)
        font.setBold(bold)
        return font

    def _system_changed(self) -> None:
        if self._mode == "system":
            self._apply()

    def _apply(self) -> None:
        self._pictures.hold()
        font = QFont(self._app.font())
        font.setPointSizeF(self._font_size)
        self._app.setFont(font)
        palette = self._palette()
        self._app.setPalette(palette)  # no style sheet for the whole application: it would polish every widget anew
        QToolTip.setPalette(palette)
        self.changed.emit()

    def _palette(self) -> QPalette:
        palette, role = QPalette(), QPalette.ColorRole
        for target, name in {
            role.Window: "window",
            role.WindowText: "text",
            role.Base: "surface",
            role.AlternateBase: "window",
            role.Text: "text",
            role.Button: "raised",
            role.ButtonText: "text",
            role.BrightText: "danger",
            role.ToolTipBase: "raised",
            role.ToolTipText: "text",
            role.Highlight: "accent",
            role.HighlightedText: "on_accent",
            role.Accent: "accent",
            role.Link: "accent",
            role.LinkVisited: "accent",
            role.PlaceholderText: "muted",
            role.Mid: "line",
            role.Midlight: "hover",
            role.Light: "raised",
            role.Dark: "line",
            role.Shadow: "line",
        }.items():
            palette.setColor(target, self.color(name))
        disabled = QColor(self.color("muted"))
        disabled.setAlpha(150)
        for target in (role.WindowText, role.Text, role.ButtonText, role.PlaceholderText):
            palette.setColor(QPalette.ColorGroup.Disabled, target, disabled)
        palette.setColor(QPalette.ColorGroup.Disabled, role.Highlight, self.color("line"))
        return palette


_known: list[Theme] = []  # asking Qt for it costs, and a picture of the window needs it hundreds of times


def theme() -> Theme:
    """The running application's theme, made on first use; needs a QApplication."""
    if _known and isValid(_known[0]):
        return _known[0]
    app = QApplication.instance()
    if not isinstance(app, QApplication):
        raise RuntimeError("theme() needs a QApplication.")
    _known[:] = [Theme(app)]
    return _known[0]
