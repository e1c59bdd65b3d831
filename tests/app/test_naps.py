"""Rests in long Python work: when they are taken, and who takes them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from app import naps
from app.chat.files import import_chat
from app.naps import NAP, WORK, Naps
from app.store import Store
from app.trace_reader import _load
from app.trace_shelf import read_turn
from app.turn_recorder import TurnRecorder
from engine import save_trace
from tests.app.tour_folder import conversation
from tests.fake_turn import fake_turn

ROUNDS = 30


class Clock:
    """Time that goes on when told to, or when somebody rests."""

    def __init__(self) -> None:
        self.now, self.rests = 100.0, list[float]()

    def perf_counter(self) -> float:
        """Now."""
        return self.now

    def sleep(self, seconds: float) -> None:
        """Rest."""
        self.rests.append(seconds)
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock of the rests."""
    made = Clock()
    monkeypatch.setattr(naps, "time", made)
    return made


def test_who_worked_a_while_rests(clock: Clock) -> None:
    """Not at every part, or small parts would take ten times as long."""
    rest = Naps()
    for _ in range(10):
        clock.now += WORK * 0.45
        rest()
    assert clock.rests == [NAP] * 3


def _save(store: Store, folder: Path) -> None:
    reply = store.messages.add(store.chats.new().id, None, "assistant").id
    recorder, turn = TurnRecorder(store, reply), fake_turn(1, rounds=ROUNDS)
    for event in (turn.start, turn.prefill, *turn.rounds, turn.end):
        recorder.add(event)
    recorder.close("", False)


def _show(store: Store, folder: Path) -> None:
    _save(store, folder)
    read_turn(store, store.messages.tree(store.chats.list()[0].id)[0].id)


def _open(store: Store, folder: Path) -> None:
    _load(save_trace(folder / "trace.json", fake_turn(1, rounds=ROUNDS)), threading.Event())


def _import(store: Store, folder: Path) -> None:
    path = folder / "chat.json"
    path.write_text(conversation("Long", ROUNDS), encoding="utf-8")
    import_chat(store, path)


@pytest.mark.parametrize(
    ("work", "least"), [(_save, ROUNDS), (_show, 3 * ROUNDS), (_open, 2 * ROUNDS), (_import, 4 * ROUNDS)]
)
def test_long_work_beside_the_window_rests(
    store: Store, tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch, work: Callable[..., None], least: int
) -> None:
    """Each call of Qt lets another thread run: beside a busy one the list of 400 chats took 38 ms instead of 4."""
    monkeypatch.setattr(naps, "WORK", 0.0)
    work(store, tmp_path)
    assert len(clock.rests) >= least
