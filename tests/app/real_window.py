"""Drives the real program on a real screen, in a process of its own: the script of `test_real_window.py`.

    python -m tests.app.real_window OUT_FOLDER [--real]

Types a prompt, waits for the reply, moves a slider, looks at a round, steps it, steps the engine, saves screenshots and
closes while a reply runs. Prints one JSON object; exit code 0 only if all of it worked.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import onnxruntime  # noqa: F401  (before Qt, as main.py does)
from PySide6.QtCore import QObject, QPoint, Qt, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

import app.window
from app.main_window import MainWindow
from app.watchdog import Watchdog
from engine import SamplingConfig
from tests.fake_engine import FakeEngine
from tests.fake_turn import fake_turn

PROMPT = {False: "Tell me a story about a heron.", True: "Give me a recipe for pancakes."}
TREE = {
    "eagle_topk": 4,
    "eagle_depth": 5,
    "draft_predict_length": 10,
    "eagle_lookup": 0,
    "draft_min_probability": 0,
    "max_new_tokens": 90,
}
PATIENCE = {False: 30.0, True: 240.0}  # seconds per wait, with the fake and with the real engine

Wait = Callable[[], object]


class Driver(QObject):
    """Runs the scenario step by step from the event loop: it `yield`s what to wait for."""

    def __init__(self, window: MainWindow, out: Path, real: bool) -> None:
        super().__init__(window)
        self.window, self.out, self.real = window, out, real
        self.result: dict[str, object] = {"done": False}
        self._steps = self.scenario()
        self._wait: Wait = lambda: True
        self._since = time.monotonic()
        self._timer = QTimer(self, interval=20)
        self._timer.timeout.connect(self._tick)
        self._timer.start()

    def _tick(self) -> None:
        try:
            if self._wait():
                self._wait, self._since = next(self._steps), time.monotonic()
            elif time.monotonic() - self._since > PATIENCE[self.real]:
                raise TimeoutError(f"waited in vain for line {self._steps.gi_frame.f_lineno}")  # type: ignore[attr-defined]
        except StopIteration:
            self.result["done"] = True
            self._timer.stop()
            self.window.close()
        except Exception as error:
            self.result["error"] = f"{type(error).__name__}: {error}"
            self.shot("failed")
            self._timer.stop()
            self.window.close()

    def shot(self, name: str) -> None:
        """What is on the screen, as the screen has it."""
        screen = self.window.screen()
        screen.grabWindow(self.window.winId()).save(str(self.out / f"{name}.png"))

    def write(self, text: str) -> None:
        """As a person does, only that all keys come at once."""
        field = self.window.panels.pane.composer.input
        field.setFocus()
        QTest.keyClicks(field, text)

    def send(self) -> None:
        """Press Enter."""
        QTest.keyClick(self.window.panels.pane.composer.input, Qt.Key.Key_Return)

    def type(self, text: str) -> None:
        """Both."""
        self.write(text)
        self.send()

    def idle(self) -> bool:
        """Nothing runs."""
        return not self.window.turns.running and not self.window.link.busy

    def scenario(self) -> Iterator[Wait]:
        """The whole visit."""
        w = self.window
        self.shot("start")
        yield lambda: w.models.state != "starting"  # until it is known whether the model is there
        if w.models.state == "missing":
            w.models.get()
        yield lambda: w.models.state == "ready" and w.panels.pane.chat > 0 and self.idle()
        w.settings.set_sampling(SamplingConfig())
        w.settings.set_config(w.settings.config.with_(**TREE))  # trees to look at, in every round
        yield from self.watched_reply(w)
        self.result |= {"rounds": w.selection.count, "tau": w.panels.status.tau.text()}
        reply = w.store.messages.path(w.panels.pane.chat)[-1]
        self.result |= {"reply": reply.content, "finish_reason": reply.finish_reason}
        yield from self.look(w)
        yield from self.step_engine(w)

    def watched_reply(self, w: MainWindow) -> Iterator[Wait]:
        """A reply during which the chat is left and found again; how long each part of it held the main thread."""
        dog, first = Watchdog(self), w.panels.pane.chat
        held: dict[str, list[float]] = {}
        reports = []

        def part(name: str) -> None:
            dog.stop()
            held[name] = [round(dog.longest_ms, 1), round(dog.longest_cpu_ms, 1)]
            reports.extend(text for _, text in dog.blocks)

        self.write(PROMPT[self.real])
        yield lambda: True
        dog.start()
        self.send()
        yield lambda: w.selection.count >= 3
        part("start")
        yield lambda: True  # what was told just now is laid out by then
        self.shot("streaming")  # not watched: the picture is our doing
        yield lambda: True
        dog.start()
        w.actions_["new_chat"].trigger()
        yield lambda: w.selection.turn is None
        yield lambda: True
        w.panels.chats.select(first)
        w.pages.open_chat(first)
        yield lambda: w.selection.count >= 3
        yield lambda: True
        part("switch")
        dog.start()
        yield lambda: w.turns.turn is not None and w.turns.turn.end is not None
        yield self.idle
        part("rest")
        self.result |= {
            "longest_block_ms": max(wall for wall, _ in held.values()),
            "own_work_ms": max(own for _, own in held.values()),
            "held_ms": held,
            "blocks": reports,
        }

    def look(self, w: MainWindow) -> Iterator[Wait]:
        """A slider, a round, its steps, the origin of tokens."""
        slider = w.panels.sliders.fields["eagle_depth"].slider
        slider.setFocus()
        before = w.settings.config.eagle_depth
        QTest.keyClick(slider, Qt.Key.Key_Right)
        self.result["depth"] = [before, w.settings.config.eagle_depth]
        w.actions_["provenance"].trigger()
        timeline = w.panels.tree.timeline
        QTest.mouseClick(timeline, Qt.MouseButton.LeftButton, pos=QPoint(80, timeline.height() // 2))
        yield lambda: not w.selection.live
        self.result["looked_at"] = w.selection.round_index
        view = w.panels.tree.view
        view.setFocus()
        names = []
        for _ in range(4):
            QTest.keyClick(view, Qt.Key.Key_Space)
            step = w.panels.tree.stepper.step
            names.append(step.name if step else "")
            yield lambda: True
        self.result["steps"] = names
        self.shot("stepped")
        w.view_menu._set_mode("dark")
        yield w.updatesEnabled  # all parts have the new colours
        for _ in range(10):
            yield lambda: True
        self.shot("dark")

    def step_engine(self, w: MainWindow) -> Iterator[Wait]:
        """The engine waits; close while it does."""
        w.actions_["new_chat"].trigger()
        w.actions_["step_engine"].trigger()
        self.type("Once more.")
        yield lambda: w.panels.tree.stepper.waiting is not None
        phases = [w.panels.tree.stepper.waiting.name]
        for _ in range(2):
            now = w.panels.tree.stepper.waiting
            w.panels.tree.next_step()
            yield lambda now=now: w.panels.tree.stepper.waiting not in (now, None)
            phases.append(w.panels.tree.stepper.waiting.name)
        self.result["phases"] = phases
        self.shot("engine-waits")
        self.result["closing_at"] = time.monotonic()


def main(out: Path, real: bool) -> int:
    """Run it."""
    out.mkdir(parents=True, exist_ok=True)
    drivers: list[Driver] = []
    engine = FakeEngine([fake_turn(3, rounds=40)], speed=1.0, load_seconds=0.1)

    class Driven(MainWindow):
        def start(self) -> None:
            super().start()
            drivers.append(Driver(self, out, real))

    app.window.MainWindow = Driven  # type: ignore[misc]
    code = app.window.run([]) if real else app.window.run([], load_engine=lambda: engine)
    result = drivers[0].result
    result["closing_seconds"] = time.monotonic() - float(result.pop("closing_at", time.monotonic()))
    result["platform"] = QApplication.platformName()
    result["exit_code"] = code
    print(json.dumps(result))
    return 0 if result["done"] and code == 0 else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), "--real" in sys.argv))
