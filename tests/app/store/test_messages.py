import math
import threading

import pytest

from app.store import Store, StoreError


def test_versions_and_branches_lose_nothing(store: Store) -> None:
    """Regenerate and edit-and-resend add siblings; choosing one brings back what followed it."""
    chat = store.chats.new()
    add = store.messages.add
    q1 = add(chat.id, None, "user", "q1")
    a1 = add(chat.id, q1.id, "assistant", "a1", "length")
    q2 = add(chat.id, a1.id, "user", "q2")
    add(chat.id, q2.id, "assistant", "a2", "length")
    again = add(chat.id, q1.id, "assistant", "a1 again", "length")
    assert [m.content for m in store.messages.path(chat.id)] == ["q1", "a1 again"]
    assert (again.version, again.versions) == (2, 2)
    edited = add(chat.id, None, "user", "q1 edited")
    assert [m.content for m in store.messages.path(chat.id)] == ["q1 edited"]
    assert [m.id for m in store.messages.siblings(edited.id)] == [q1.id, edited.id]
    store.messages.choose(q1.id)
    assert [m.content for m in store.messages.path(chat.id)] == ["q1", "a1 again"]
    store.messages.choose(a1.id)
    assert [m.content for m in store.messages.path(chat.id)] == ["q1", "a1", "q2", "a2"]
    assert len(store.messages.tree(chat.id)) == 6


def test_reveal_shows_a_message_of_a_hidden_branch(store: Store) -> None:
    """A search hit in another version opens that version."""
    chat = store.chats.new()
    q1 = store.messages.add(chat.id, None, "user", "q1")
    a1 = store.messages.add(chat.id, q1.id, "assistant", "a1", "length")
    q2 = store.messages.add(chat.id, a1.id, "user", "q2")
    store.messages.add(chat.id, None, "user", "other start")
    store.messages.reveal(q2.id)
    assert [m.id for m in store.messages.path(chat.id)] == [q1.id, a1.id, q2.id]


def test_a_prompt_and_its_reply_come_together_or_not_at_all(store: Store) -> None:
    """A prompt without the reply that is being made could only be sent again."""
    chat = store.chats.new()
    prompt, reply = store.messages.ask(chat.id, None, "Why?\ud800")
    assert (prompt.content, prompt.parent, reply.parent, reply.finished) == ("Why?\ufffd", None, prompt.id, False)
    assert store.chats.get(chat.id).title == "Why?\ufffd"
    (again,) = store.messages.ask(chat.id, prompt.id, None)
    assert (again.role, again.version, again.versions) == ("assistant", 2, 2)
    with store.database.write() as c:
        c.execute(
            "CREATE TRIGGER none BEFORE INSERT ON messages WHEN NEW.role = 'assistant' "
            "BEGIN SELECT RAISE (ABORT, 'none'); END"
        )
    with pytest.raises(StoreError, match="none"):
        store.messages.ask(chat.id, again.id, "lost")
    assert [m.id for m in store.messages.tree(chat.id)] == [prompt.id, reply.id, again.id]


def test_what_is_asked_is_shown_whatever_was_chosen_above_it(store: Store) -> None:
    """Another Eyrie, or a click that came late, chose other versions: what was sent must not seem to be gone."""
    chat = store.chats.new()
    q1, a1 = store.messages.ask(chat.id, None, "q1")
    (again,) = store.messages.ask(chat.id, q1.id, None)
    store.messages.ask(chat.id, None, "other start")
    q2, a2 = store.messages.ask(chat.id, a1.id, "q2")
    assert [m.id for m in store.messages.path(chat.id)] == [q1.id, a1.id, q2.id, a2.id]
    assert store.messages.siblings(a1.id)[1].id == again.id


def test_streaming_text_and_the_end(store: Store) -> None:
    """Progress replaces the text, the end adds the reason and the numbers; nan does not break the JSON."""
    chat = store.chats.new()
    q = store.messages.add(chat.id, None, "user", "q")
    a = store.messages.add(chat.id, q.id, "assistant")
    assert not a.finished
    store.messages.save_progress(a.id, "Once")
    store.messages.save_progress(a.id, "Once upon")
    assert store.messages.get(a.id).content == "Once upon"
    store.messages.finish(a.id, "Once upon a time", "stop_token", {"tau": math.nan, "rounds": 3, "by": {1: 2}})
    done = store.messages.get(a.id)
    assert (done.content, done.finish_reason, done.finished) == ("Once upon a time", "stop_token", True)
    assert done.stats == {"tau": None, "rounds": 3, "by": {"1": 2}}


def test_a_reply_to_a_purged_chat_is_let_go(store: Store) -> None:
    """Deleting the chat that is being answered must not break the worker."""
    chat = store.chats.new()
    q = store.messages.add(chat.id, None, "user", "q")
    a = store.messages.add(chat.id, q.id, "assistant")
    store.chats.delete(chat.id)
    store.chats.purge()
    store.messages.save_progress(a.id, "x")
    store.messages.finish(a.id, "x", "cancelled")


def test_wrong_parents_and_roles_are_refused(store: Store) -> None:
    """A tree with an edge between two chats could not be shown."""
    one, two = store.chats.new(), store.chats.new()
    q = store.messages.add(one.id, None, "user", "q")
    with pytest.raises(StoreError, match="another chat"):
        store.messages.add(two.id, q.id, "assistant")
    with pytest.raises(StoreError, match="role"):
        store.messages.add(one.id, None, "system", "x")
    with pytest.raises(StoreError, match="gone"):
        store.messages.add(99, None, "user", "x")
    with pytest.raises(StoreError, match="reason"):
        store.messages.finish(q.id, "x", "")


def test_half_surrogates_do_not_stop_the_store(store: Store) -> None:
    """Pasted text can hold what UTF-8 cannot; a whole pair becomes its character."""
    chat = store.chats.new()
    message = store.messages.add(chat.id, None, "user", "a\ud800b \ud83d\ude00 c\x00d")
    assert store.messages.get(message.id).content == "a\ufffdb 😀 c\x00d"


def test_a_chat_deeper_than_sqlite_cascades_can_be_purged(store: Store) -> None:
    """SQLite refuses cascades deeper than 1000; a conversation may be longer."""
    chat = store.chats.new()
    with store.database.write() as c:
        for i in range(1, 1502):
            parent = i - 1 or None
            c.execute(
                "INSERT INTO messages (id, chat, parent, role, content, created) VALUES (?, ?, ?, 'user', 'x', 0)",
                (i, chat.id, parent),
            )
    assert len(store.messages.path(chat.id)) == 1501
    store.chats.delete(chat.id)
    assert store.chats.purge() == 1


def test_many_threads_write_and_read(store: Store) -> None:
    """The worker writes while the window reads: every thread has its own connection and sees whole states."""
    chat = store.chats.new()
    errors: list[BaseException] = []

    def write(name: str) -> None:
        try:
            message = store.messages.add(chat.id, None, "user", name)
            said = [name]
            for i in range(25):
                said.append(f"{name} {i}")
                store.messages.save_progress(message.id, said[-1])  # left out where another thread holds the file
                assert store.messages.get(message.id).content in said
            store.messages.finish(message.id, f"{name} whole", "stop")
            assert store.messages.get(message.id).content == f"{name} whole"
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=write, args=(f"t{n}",)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert sorted(m.content for m in store.messages.tree(chat.id)) == [f"t{n} whole" for n in range(4)]
