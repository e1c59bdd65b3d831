import random
import subprocess
import sys
import time
from pathlib import Path

from app.store import Store

KILLS = 12
WRITER = """
import sys
from pathlib import Path
from app.store import Store
store = Store(Path(sys.argv[1]))
chat = store.chats.list()[0].id if store.chats.list() else store.chats.new().id
parent = None
while True:
    q = store.messages.add(chat, parent, "user", "question")
    a = store.messages.add(chat, q.id, "assistant")
    parent = a.id
    print("start", a.id, flush=True)
    text = ""
    for n in range(40):
        text += f"round {n} of message {a.id}. "
        store.messages.save_progress(a.id, text)
        print("round", a.id, n, flush=True)
    store.messages.finish(a.id, text, "length", {"rounds": 40})
    store.traces.save(a.id, '{"rounds": 40}')
    print("end", a.id, flush=True)
"""


def expected(message: int, rounds: int) -> str:
    """Text of a message after that many rounds."""
    return "".join(f"round {n} of message {message}. " for n in range(rounds))


def test_kill_at_any_moment_loses_at_most_the_round_in_flight(tmp_path: Path) -> None:
    """The writer reports each step after it was saved; what was reported must be there after kill -9, every time."""
    rng = random.Random(3)
    finished: set[int] = set()
    rounds: dict[int, int] = {}
    for _ in range(KILLS):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path)],
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[3],
        )
        assert writer.stdout is not None
        writer.stdout.readline()
        time.sleep(rng.uniform(0.0, 0.15))
        writer.kill()
        for line in writer.stdout.read().splitlines(keepends=True):
            kind, *numbers = line.split()
            if not line.endswith("\n"):  # killed while it wrote
                continue
            if kind == "round":
                rounds[int(numbers[0])] = int(numbers[1]) + 1
            elif kind == "end":
                finished.add(int(numbers[0]))
        writer.stdout.close()
        writer.wait()
        store = Store(tmp_path)
        assert store.notice == ""
        for message, count in rounds.items():
            kept = store.messages.get(message)
            assert kept.content in (expected(message, count), expected(message, count + 1))
            if message in finished:
                assert (kept.finish_reason, kept.stats) == ("length", {"rounds": 40})
        store.close()
    assert sum(rounds.values()) > KILLS
