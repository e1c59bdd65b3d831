"""What the View menu does: parts shown or hidden, colours, text size, pace; and keeping all that for next time."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Qt, QUrl
from PySide6.QtGui import QActionGroup, QDesktopServices

from app.actions import choice
from app.chat.pane_keys import zoom
from app.log import log_path
from app.player import PACES
from app.theme import FONT_SIZE_DEFAULT, theme

if TYPE_CHECKING:
    from app.main_window import MainWindow

MODES = {"system": "As the system", "light": "Light", "dark": "Dark"}
ABOUT = "Eyrie runs a language model on this computer and draws how speculative decoding finds its words."


class ViewMenu(QObject):
    """Commands that only change what is seen."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        self._panels, self._actions = window.panels, window.actions_
        for name in self._panels.parts:
            self._actions.on(name, self._shower(name))
        self._panels.visibility_changed.connect(self._actions.set_checked)
        for name in self._panels.parts:
            self._actions.set_checked(name, self._panels.is_shown(name))
        self._actions.on("provenance", self._set_provenance)
        self._actions.on("larger", partial(zoom, 1))
        self._actions.on("smaller", partial(zoom, -1))
        self._actions.on("normal", partial(zoom, 0))
        self._actions.on("full_screen", self._full_screen)
        self._actions.on("log", self._open_log)
        self._actions.on("about", self._about)
        self._modes = self._choices("theme", MODES, self._set_mode)
        paces = {pace: words.capitalize() for pace, words in PACES.items()}
        self._paces = self._choices("pace", paces, window.player.set_pace)
        window.player.changed.connect(self._show_pace)
        # When it opens, and not when the colours change: that is told in pieces, and the menu may be gone by then.
        self._actions.submenus["theme"].aboutToShow.connect(self._show_mode)
        self._show_pace()

    def state(self) -> dict[str, Any]:
        """What is to be kept."""
        panels = self._panels
        return {
            "shown": {name: panels.is_shown(name) for name in panels.parts},
            "plots": panels.plots.shown,
            "tree": panels.tree.header.options(),
            "more": panels.sliders.more_button.isChecked(),
            "mode": theme().mode,
            "font": theme().font_size,
            "provenance": panels.pane.view.provenance,
            "pace": self._window.player.pace,
        }

    def restore(self, kept: dict[str, Any]) -> None:
        """Bring back what was kept; what makes no sense is left as it is."""
        shown = kept.get("shown")
        for name in self._panels.parts:
            if isinstance(shown, dict) and isinstance(shown.get(name), bool):
                self._panels.set_shown(name, shown[name])
        if isinstance(kept.get("plots"), list):
            self._panels.plots.set_shown([str(name) for name in kept["plots"]])
        if isinstance(kept.get("tree"), dict):
            toggles = kept["tree"].items()
            self._panels.tree.header.set_options({name: on for name, on in toggles if isinstance(on, bool)})
        self._panels.sliders.more_button.setChecked(kept.get("more") is True)
        if kept.get("mode") in tuple(MODES):  # it may be anything, also what cannot be hashed
            theme().set_mode(kept["mode"])
        size = kept.get("font", FONT_SIZE_DEFAULT)
        theme().set_font_size(float(size) if isinstance(size, int | float) else FONT_SIZE_DEFAULT)
        self._panels.pane.view.set_provenance(kept.get("provenance") is True)
        self._actions.set_checked("provenance", self._panels.pane.view.provenance)
        if kept.get("pace") in tuple(PACES):
            self._window.player.set_pace(kept["pace"])

    def _shower(self, name: str) -> Callable[[bool], None]:
        # No partial: PySide calls one without the signal's argument.
        def show(on: bool) -> None:
            focus = self._window.focusWidget()
            inside = focus is not None and self._panels.parts[name].isAncestorOf(focus)
            self._panels.set_shown(name, on)
            if inside and not on:
                self._window.pages.take_focus()
            elif on and name == "show_chat_settings":
                self._panels.pane.settings.prompt.setFocus(Qt.FocusReason.ShortcutFocusReason)

        return show

    def _choices(self, name: str, choices: dict[Any, str], call: Any) -> dict[Any, Any]:
        menu, group = self._actions.submenus[name], QActionGroup(self)
        made = {}
        for value, text in choices.items():
            made[value] = choice(menu, text, partial(call, value))
            group.addAction(made[value])
        return made

    def _show_mode(self) -> None:
        self._modes[theme().mode].setChecked(True)

    def _show_pace(self) -> None:
        self._paces[self._window.player.pace].setChecked(True)

    def _set_mode(self, mode: Any) -> None:
        theme().set_mode(mode)

    def _set_provenance(self, on: bool) -> None:
        self._panels.pane.view.set_provenance(on)

    def _full_screen(self, on: bool) -> None:
        self._window.showFullScreen() if on else self._window.showNormal()

    def _open_log(self) -> None:
        folder = log_path().parent
        if not QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder))):
            self._window.say(f"The log is in {folder}.")

    def _about(self) -> None:
        from importlib import metadata  # 40 ms, and rarely wanted

        try:
            version = metadata.version("eyrie")
        except metadata.PackageNotFoundError:
            version = ""
        self._window.say(f"{ABOUT} Version {version}." if version else ABOUT)
