"""What is kept of a reply while it runs and when it ends, well or not."""

import pytest

from app.store import Store
from app.turn_recorder import TurnRecorder
from engine import trace_from_json
from tests.fake_turn import fake_turn


@pytest.fixture
def reply(store):
    """An empty reply in a chat."""
    chat = store.chats.new().id
    prompt = store.messages.add(chat, None, "user", "Hello").id
    return store.messages.add(chat, prompt, "assistant").id


def play(recorder, turn, rounds=None):
    """The events of a turn, up to some round; the end only with all."""
    recorder.add(turn.start)
    recorder.add(turn.prefill)
    for shown in turn.rounds[:rounds]:
        recorder.add(shown)
    if rounds is None:
        recorder.add(turn.end)


def test_whole_turn(store, reply):
    """Text, reason, numbers and trace, equal to the record."""
    turn = fake_turn(1)
    recorder = TurnRecorder(store, reply)
    play(recorder, turn)
    recorder.close("", False)
    kept = store.messages.get(reply)
    assert (kept.content, kept.finish_reason) == (turn.text, "length")
    assert kept.stats["tokens"] == len(turn.tokens)
    assert trace_from_json(store.traces.load(reply)) == turn


@pytest.mark.parametrize("rounds", [0, 1, 7])
def test_every_round_is_on_disk_when_it_is_over(store, reply, rounds):
    """Killed now, the reply so far is there at the next start and known to be unfinished."""
    turn = fake_turn(1)
    play(TurnRecorder(store, reply), turn, rounds)
    again = Store(store.path.parent)
    kept = again.messages.get(reply)
    again.close()
    assert kept.content == turn.prefill.text + "".join(r.text for r in turn.rounds[:rounds])
    assert not kept.finished


def test_the_database_follows_now_and_then(store, reply, monkeypatch):
    """An export, or a copy of a chat, finds what was said until a moment ago also while the reply runs."""
    monkeypatch.setattr("app.turn_recorder.SAVE_SECONDS", 0.0)
    turn = fake_turn(1)
    play(TurnRecorder(store, reply), turn, 3)
    assert store.messages.get(reply).content == turn.prefill.text + "".join(r.text for r in turn.rounds[:3])


@pytest.mark.parametrize("rounds", [3, None])
def test_no_file_stays_behind(store, reply, rounds):
    """The file of the running reply goes with its end, good or bad."""
    recorder = TurnRecorder(store, reply)
    play(recorder, fake_turn(1), rounds)
    recorder.close("The engine failed.", False)
    assert not list(store.path.parent.glob("*-reply-*"))


@pytest.mark.parametrize(("cancelled", "reason"), [(False, "error"), (True, "cancelled")])
def test_turn_without_an_end(store, reply, cancelled, reason):
    """It keeps its text and says why it stopped."""
    turn = fake_turn(1)
    recorder = TurnRecorder(store, reply)
    play(recorder, turn, 3)
    recorder.close("The engine failed.", cancelled)
    kept = store.messages.get(reply)
    assert kept.finish_reason == reason
    assert kept.content
    assert kept.stats["error"] == ("" if cancelled else "The engine failed.")
    assert store.traces.load(reply) is None


def test_turn_that_never_began(store, reply):
    """An empty reply must not stay 'running' for ever."""
    TurnRecorder(store, reply).close("No model.", False)
    assert store.messages.get(reply).finish_reason == "error"
