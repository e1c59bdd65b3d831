import pytest

from app.chat.branch import Branch
from app.store import Store, StoreError


@pytest.fixture
def branch(store: Store) -> Branch:
    """Two prompts, the first one answered twice."""
    made = Branch(store)
    first = made.ask(None, "first")
    store.messages.finish(first, "one", "stop_token", {})
    second = made.ask(made.path[0].id, None)
    store.messages.finish(second, "two", "stop_token", {"dropped_messages": 1})
    made.open(made.chat)
    made.ask(second, "next")
    return made


def test_the_prompt_is_what_is_shown_and_nothing_that_is_empty(branch: Branch) -> None:
    """The engine must read the branch that the user sees, without the reply that is only coming."""
    assert branch.prompt("Be brief.", "draft") == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "first"},
        {"role": "assistant", "content": "two"},
        {"role": "user", "content": "next"},
        {"role": "user", "content": "draft"},
    ]
    assert [m["content"] for m in branch.prompt("")] == ["first", "two", "next"]


def test_versions_change_what_follows_and_end_at_both_ends(branch: Branch) -> None:
    """Another version brings its own continuation, here none; beyond the last one nothing happens."""
    shown = branch.path[1].id
    assert branch.step_version(shown, 1) is None
    assert branch.step_version(shown, -1) is not None
    assert [m.content for m in branch.path] == ["first", "one"]


def test_empty_messages_were_never_read(branch: Branch, store: Store) -> None:
    """The engine counts what it left out in what it was given: an empty reply on the way is passed over."""
    store.messages.finish(branch.path[-1].id, "", "cancelled", {})
    branch.ask(branch.path[-1].id, "again")
    assert [m.content for m in branch.path] == ["first", "two", "next", "", "again", ""]
    assert [branch.left_out(n) for n in (0, 2, 3, 4)] == [0, 2, 3, 5]


def test_the_newest_reply_says_what_was_left_out(branch: Branch) -> None:
    """The mark is there again when a chat is opened."""
    branch.step_version(branch.path[1].id, -1)
    assert branch.left_out() == 0
    branch.step_version(branch.path[1].id, 1)
    branch.path = branch.path[:2]
    assert branch.left_out() == 1


def test_a_failing_store_leaves_the_path(branch: Branch, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The window goes on showing what it has."""

    def full(*_: object, **__: object) -> None:
        raise StoreError("The disk is full.")

    before = branch.path
    monkeypatch.setattr(store.messages, "add", full)
    with pytest.raises(StoreError, match="full"):
        branch.ask(None, "lost")
    assert branch.path is before


def test_a_branch_that_grows_is_not_read_again(branch: Branch, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading 500 messages takes long; what was added is known, and is what the store would say."""
    read: list[int] = []
    path = store.messages.path
    monkeypatch.setattr(store.messages, "path", lambda chat: read.append(chat) or path(chat))
    branch.ask(branch.path[-1].id, "more")
    assert read == []
    assert branch.path == path(branch.chat)
    branch.ask(branch.path[0].id, None)
    assert read == [branch.chat]
    assert branch.path == path(branch.chat)
