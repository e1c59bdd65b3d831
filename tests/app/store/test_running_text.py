"""What the file beside the database keeps of a reply that was running when the program was killed."""

import pytest

from app.store import Store, StoreError


@pytest.fixture
def reply(tmp_path):
    """An empty reply in a store that is closed."""
    store = Store(tmp_path)
    chat = store.chats.new().id
    prompt = store.messages.add(chat, None, "user", "Hello").id
    reply = store.messages.add(chat, prompt, "assistant").id
    store.close()
    return reply


def left(folder):
    """Files of running replies."""
    return sorted(p.name for p in folder.glob("*-reply-*"))


def test_the_next_start_has_every_word(tmp_path, reply):
    """Nothing but the file was written: killed here, not a word is lost, and the file is gone afterwards."""
    running = Store(tmp_path).running_text(reply)
    running.add("Grüß ")
    running.add("dich, \U0001f985.")
    assert len(left(tmp_path)) == 1
    kept = Store(tmp_path).messages.get(reply)
    assert (kept.content, kept.finished) == ("Grüß dich, \U0001f985.", False)
    assert left(tmp_path) == []


def test_a_character_cut_in_two_is_left_out(tmp_path, reply):
    """The disk may hold half of the last write."""
    store = Store(tmp_path)
    store.running_text(reply).add("Eagle")
    path = tmp_path / left(tmp_path)[0]
    path.write_bytes(path.read_bytes() + "\U0001f985".encode()[:2])
    assert Store(tmp_path).messages.get(reply).content == "Eagle"


@pytest.mark.parametrize("words", ["All of it, and how it ended.", "All"])
def test_a_finished_reply_stays_as_it_is(tmp_path, reply, words):
    """The file may outlive its reply by a moment."""
    store = Store(tmp_path)
    store.running_text(reply).add("All of it, and how")
    store.messages.finish(reply, words, "stop_token")
    assert Store(tmp_path).messages.get(reply).content == words


def test_a_prompt_or_no_message_is_not_touched(tmp_path, reply):
    """A file that belongs to nothing in this database is only removed."""
    store = Store(tmp_path)
    for number in (reply - 1, reply + 7):
        store.running_text(number).add("What another file's reply said, longer than the prompt.")
    again = Store(tmp_path)
    assert again.messages.get(reply - 1).content == "Hello"
    assert left(tmp_path) == []


def test_remove(tmp_path, reply):
    """No file stays behind a reply that ended; one without words never had any."""
    store = Store(tmp_path)
    running = store.running_text(reply)
    running.remove()
    running.add("word")
    running.remove()
    assert left(tmp_path) == []


def test_a_folder_that_is_gone_is_said(tmp_path, reply):
    """One sentence, as for the database itself."""
    store = Store(tmp_path / "later")
    running = store.running_text(reply)
    store.close()
    for path in (tmp_path / "later").iterdir():
        path.unlink()
    (tmp_path / "later").rmdir()
    with pytest.raises(StoreError, match="cannot be written"):
        running.add("word")
