import json
import random

import pytest

from app.store import Store, StoreError


def incompressible(seed: int, size: int) -> str:
    """JSON text whose compressed size is close to `size` bytes."""
    return json.dumps(random.Random(seed).randbytes(size).hex())


def replies(store: Store, count: int) -> list[int]:
    """Ids of some finished replies."""
    chat = store.chats.new()
    q = store.messages.add(chat.id, None, "user", "q")
    return [store.messages.add(chat.id, q.id, "assistant", f"a{i}", "length").id for i in range(count)]


def test_a_trace_comes_back_unchanged(store: Store) -> None:
    """Compression is invisible, and a message knows that it has a trace."""
    (message,) = replies(store, 1)
    text = json.dumps({"rounds": ["é", "\ufffd"] * 1000})
    assert store.traces.load(message) is None
    assert store.traces.save(message, text)
    assert store.traces.load(message) == text
    assert store.traces.total() < len(text)
    assert store.messages.get(message).has_trace


def test_the_oldest_leave_first(store: Store) -> None:
    """Traces are bounded; a new one always finds room unless it alone is too large."""
    messages = replies(store, 4)
    store.traces.set_limit(3500)
    for n, message in enumerate(messages):
        assert store.traces.save(message, incompressible(n, 1000))
    assert [store.traces.load(m) is not None for m in messages] == [False, True, True, True]
    assert store.traces.total() <= 3500
    assert not store.traces.save(messages[0], incompressible(9, 4000))
    assert store.traces.load(messages[1]) is not None
    store.traces.set_limit(1200)
    assert [store.traces.load(m) is not None for m in messages] == [False, False, False, True]
    store.traces.set_limit(0)
    assert store.traces.total() == 0
    assert not store.traces.save(messages[0], "{}")


def test_traces_leave_with_their_chat(store: Store) -> None:
    """A purged chat leaves no record behind."""
    (message,) = replies(store, 1)
    store.traces.save(message, "{}")
    store.chats.delete(store.messages.get(message).chat)
    store.chats.purge()
    assert store.traces.total() == 0
    with pytest.raises(StoreError, match="gone"):
        store.traces.save(message, "{}")


def test_a_damaged_trace_is_one_sentence(store: Store) -> None:
    """A flipped byte in the record must not take the reply with it."""
    (message,) = replies(store, 1)
    store.traces.save(message, "{}")
    with store.database.write() as c:
        c.execute("UPDATE traces SET data = x'00112233'")
    with pytest.raises(StoreError, match="damaged"):
        store.traces.load(message)
    assert store.messages.get(message).content == "a0"


def test_settings_keep_json_and_survive_damage(store: Store) -> None:
    """A setting that cannot be read is as if never set."""
    store.settings.set("font", 12.5)
    assert store.settings.get("font") == 12.5
    store.settings.set("font", None)
    assert store.settings.get("font", "default") == "default"
    with store.database.write() as c:
        c.execute("INSERT INTO settings VALUES ('bad', '{')")
    assert store.settings.get("bad", 3) == 3
