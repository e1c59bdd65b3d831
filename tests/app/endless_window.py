"""A window that chats with itself until it is killed: the victim of `test_kill_window.py`.

Prints the text of a reply, as JSON, once it is over; the first line says that the window is up.
"""

from __future__ import annotations

import json
import os

os.environ["QT_QPA_PLATFORM"] = "offscreen"

import app.window
from app.main_window import MainWindow
from engine import Turn
from tests.fake_engine import FakeEngine
from tests.fake_turn import fake_turn


class Endless(MainWindow):
    """Sends the next prompt when a reply is over."""

    def start(self) -> None:
        """As the window, then go."""
        super().start()
        self.models.changed.connect(self.first)
        self.turns.ended.connect(self.over)

    def first(self) -> None:
        """The model is ready."""
        if self.models.state == "ready":
            print(json.dumps("up"), flush=True)
            self.link.done.connect(self.next)
            self.ask()

    def over(self, turn: Turn) -> None:
        """Tell."""
        print(json.dumps(turn.text), flush=True)

    def next(self, _job: int) -> None:
        """When nothing runs any more."""
        if not self.turns.running and not self.link.busy:
            self.ask()

    def ask(self) -> None:
        """Another prompt."""
        self.panels.pane.composer.set_text("Go on.")
        self.panels.pane.composer.send()


if __name__ == "__main__":
    app.window.MainWindow = Endless  # type: ignore[misc]
    turns = [fake_turn(seed, rounds=14) for seed in range(5)]
    app.window.run([], load_engine=lambda: FakeEngine(turns, speed=2.0))
