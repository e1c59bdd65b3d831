"""Live, hold, play, pace, step: which round is looked at, and whether the engine waits. Keeps the buttons in step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

if TYPE_CHECKING:
    from app.main_window import MainWindow

STEPPING = "The engine now waits before each phase: Space or Step lets it go on. Stop works as always."


class LiveControl(QObject):
    """What the buttons of the toolbar's middle do, and how they look."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window, self._panels, self._actions = window, window.panels, window.actions_
        self._selection, self._player, self._link = window.selection, window.player, window.link
        self._selection.live_changed.connect(self._show_live)
        self._panels.tree.engine_step_requested.connect(self._link.step)
        self._panels.recording.play_wanted.connect(self.toggle_play)
        self._player.changed.connect(self._show_player)
        window.toolbar.pace_chosen.connect(self._player.set_pace)
        window.toolbar.set_pace(self._player.pace)
        self._show_live(self._selection.live)

    def go_live(self) -> None:
        """To the newest round, and on with it."""
        self._player.stop()
        self._selection.pin(-1)
        self._selection.follow()
        self._show_live(self._selection.live)

    def hold(self) -> None:
        """Stay at the shown round."""
        self._player.stop()
        self._selection.go(self._selection.round_index)
        self._show_live(self._selection.live)

    def toggle_play(self) -> None:
        """Play the rounds at their pace, or stop that."""
        if self._player.playing:
            self._player.stop()
        else:
            self._window.pages.settle()  # a recording may be asked to play before its rounds are shown
            self._player.play()
        self._show_player()

    def step_engine(self, on: bool) -> None:
        """Make the engine wait before each phase, or let it run."""
        self._link.set_stepping(on)
        if on:
            self._selection.follow()
            self._window.say(STEPPING)
        else:
            self._panels.tree.show_phase(None)

    def finish_round(self) -> None:
        """Let a waiting engine go on to the end of the round."""
        self._link.step(to_round_end=True)

    def _show_live(self, live: bool) -> None:
        self._actions.set_checked("live", live)
        self._actions.set_checked("hold", not live and not self._player.playing)

    def _show_player(self) -> None:
        playing = self._player.playing
        self._actions.set_checked("play", playing)
        self._panels.recording.set_playing(playing)
        self._window.toolbar.set_banner(self._player.banner())
        self._window.toolbar.set_pace(self._player.pace)
        self._show_live(self._selection.live)
