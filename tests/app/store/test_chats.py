import time

import pytest

from app.store import Store, StoreError


def test_newest_first_and_titles_come_from_the_first_prompt(store: Store) -> None:
    """The list is what a person looks for: latest on top, named by what was asked."""
    old, new = store.chats.new(), store.chats.new()
    assert [c.id for c in store.chats.list()] == [new.id, old.id]
    store.messages.add(old.id, None, "user", "\n  Why do herons\tstand on one leg?  \nPlease be brief.")
    listed = store.chats.list()
    assert [c.id for c in listed] == [old.id, new.id]
    assert [c.name for c in listed] == ["Why do herons stand on one leg?", "New chat"]


def test_a_given_title_is_never_replaced(store: Store) -> None:
    """A renamed chat keeps its name when the first prompt comes."""
    chat = store.chats.new()
    store.chats.rename(chat.id, "  My\nplans ")
    store.messages.add(chat.id, None, "user", "hello")
    assert store.chats.get(chat.id).title == "My plans"


def test_long_titles_are_cut_at_a_word(store: Store) -> None:
    """A prompt of a page must not become a title of a page."""
    chat = store.chats.new()
    store.messages.add(chat.id, None, "user", "word " * 100)
    title = store.chats.get(chat.id).title
    assert len(title) <= 61
    assert title.endswith("word…")


def test_delete_undo_purge(store: Store) -> None:
    """Deleting hides, undo restores everything, purge removes for good."""
    chat = store.chats.new("kept")
    message = store.messages.add(chat.id, None, "user", "words")
    store.chats.delete(chat.id)
    assert store.chats.list() == []
    assert store.chats.search("words") == []
    assert store.chats.purge(before=time.time() - 60) == 0
    store.chats.undo_delete(chat.id)
    assert [m.id for m in store.messages.path(chat.id)] == [message.id]
    store.chats.delete(chat.id)
    assert store.chats.purge() == 1
    with pytest.raises(StoreError, match="gone"):
        store.chats.undo_delete(chat.id)
    with pytest.raises(StoreError, match="gone"):
        store.messages.get(message.id)


def test_deleted_chats_go_for_good_after_a_week(store: Store) -> None:
    """What was deleted long ago is really gone at the next start; yesterday's deletion is not."""
    old, recent = store.chats.new("old"), store.chats.new("recent")
    for chat, days in ((old, 8), (recent, 1)):
        store.chats.delete(chat.id)
        with store.database.write() as c:
            c.execute("UPDATE chats SET deleted_at = ? WHERE id = ?", (time.time() - days * 86400, chat.id))
    again = Store(store.path.parent)
    again.chats.undo_delete(recent.id)
    with pytest.raises(StoreError, match="gone"):
        again.chats.undo_delete(old.id)
    again.close()


def test_duplicate_copies_branches_choices_and_traces(store: Store) -> None:
    """A copy is independent and complete: other versions, the shown one, and the records."""
    chat = store.chats.new("one", system_prompt="be kind", sampling={"temperature": 0.7}, model="m")
    prompt = store.messages.add(chat.id, None, "user", "q")
    first = store.messages.add(chat.id, prompt.id, "assistant", "a1", "length")
    store.messages.add(chat.id, prompt.id, "assistant", "a2", "length")
    store.messages.choose(first.id)
    store.traces.save(first.id, "{}")
    copy = store.chats.duplicate(chat.id)
    assert (copy.title, copy.system_prompt, copy.sampling, copy.model) == (
        "one (copy)",
        "be kind",
        {"temperature": 0.7},
        "m",
    )
    path = store.messages.path(copy.id)
    assert [(m.content, m.version, m.versions, m.has_trace) for m in path] == [("q", 1, 1, False), ("a1", 1, 2, True)]
    store.messages.add(copy.id, path[-1].id, "user", "more")
    assert [m.content for m in store.messages.path(chat.id)] == ["q", "a1"]


def test_search_is_literal_and_ignores_case_in_every_script(store: Store) -> None:
    """`%` and `_` are characters, not wildcards; "ÄPFEL" finds "äpfel"; other branches count too."""
    chat, other = store.chats.new("Obst"), store.chats.new("other")
    prompt = store.messages.add(chat.id, None, "user", "before " * 30 + "100% Äpfel\nand_pears" + " after" * 30)
    store.messages.add(chat.id, prompt.id, "assistant", "hidden version", "length")
    store.messages.add(chat.id, prompt.id, "assistant", "shown version", "length")
    store.messages.add(other.id, None, "user", "100 things, andXpears")
    assert [h.message for h in store.chats.search("100%")] == [prompt.id]
    assert [h.message for h in store.chats.search("AND_P")] == [prompt.id]
    assert [h.role for h in store.chats.search("hidden")] == ["assistant"]
    assert store.chats.search("obst")[0].message == 0
    assert store.chats.search("  ") == []
    hit = store.chats.search("ÄPFEL and")[0] if store.chats.search("ÄPFEL and") else store.chats.search("äpfel")[0]
    assert hit.excerpt[hit.start : hit.start + hit.length] == "Äpfel"
    assert hit.excerpt.startswith("…")
    assert "\n" not in hit.excerpt
    assert {h.chat for h in store.chats.search("100", chat=other.id)} == {other.id}


def test_prompt_sampling_and_model_are_kept(store: Store) -> None:
    """What belongs to a conversation is there after a restart."""
    chat = store.chats.new()
    store.chats.set_system_prompt(chat.id, "short answers")
    store.chats.set_sampling(chat.id, {"temperature": 0.5, "stop": ["END"]})
    store.chats.set_model(chat.id, "SmolLM2")
    kept = store.chats.get(chat.id)
    assert (kept.system_prompt, kept.sampling, kept.model) == (
        "short answers",
        {"temperature": 0.5, "stop": ["END"]},
        "SmolLM2",
    )


def test_a_fresh_chat_is_the_empty_one_that_is_there(store: Store) -> None:
    """Asking for a new chat again and again must not fill the list; one with a title, or with words, is not empty."""
    first = store.chats.fresh()
    assert store.chats.fresh() == first
    store.messages.add(first.id, None, "assistant", "words without a prompt", "length")
    second = store.chats.fresh()
    assert second.id != first.id
    store.chats.rename(second.id, "Named")
    assert store.chats.fresh().id not in (first.id, second.id)
