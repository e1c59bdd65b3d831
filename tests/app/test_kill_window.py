"""Killed in the middle of a reply, at any moment: nothing that was finished is lost, nothing is damaged."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from app.store import Store

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("seed", range(3))
def test_kill_loses_at_most_the_round_in_flight(tmp_path, seed):
    """kill -9 is what a power cut looks like to a program."""
    chance = random.Random(seed)
    env = os.environ | {"EYRIE_DATA": str(tmp_path)}
    command = [sys.executable, "-m", "tests.app.endless_window"]
    with subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True) as victim:
        assert victim.stdout is not None
        told = [json.loads(victim.stdout.readline()) for _ in range(chance.randint(2, 4))]
        time.sleep(chance.uniform(0.0, 0.4))
        victim.kill()
        told += [json.loads(line) for line in victim.stdout.read().splitlines()]
    store = Store(tmp_path)
    assert store.notice == ""
    replies = [m for m in store.messages.path(store.chats.list()[0].id) if m.role == "assistant"]
    finished = [m.content for m in replies if m.finished]
    assert finished[: len(told) - 1] == told[1:]
    assert len(replies) - len(finished) <= 1
    for message in replies[: len(finished) - 1]:  # the last one's record may be the thing in flight
        assert store.traces.load(message.id)
    store.close()
