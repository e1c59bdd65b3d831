import pytest

from app.chat.branch import Branch
from app.store import Message, Store, StoreError
from app.writer import Writer


def ask(branch: Branch, parent: int | None, text: str | None) -> int:
    """Ask; the new reply."""
    added: list[Message] = []
    branch.ask(parent, text, lambda messages, shown: added.extend(messages), pytest.fail)
    return added[-1].id


def step(branch: Branch, message: int, delta: int) -> int | None:
    """Go to another version; which one."""
    found: list[int] = []
    branch.step_version(message, delta, found.append, pytest.fail)
    return found[0] if found else None


@pytest.fixture
def branch(store: Store, writer: Writer) -> Branch:
    """Two prompts, the first one answered twice."""
    made = Branch(store, writer)
    first = ask(made, None, "first")
    store.messages.finish(first, "one", "stop_token", {})
    second = ask(made, made.path[0].id, None)
    store.messages.finish(second, "two", "stop_token", {"dropped_messages": 1})
    made.open(made.chat)
    ask(made, second, "next")
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
    assert step(branch, shown, 1) is None
    assert step(branch, shown, -1) is not None
    assert [m.content for m in branch.path] == ["first", "one"]


def test_empty_messages_were_never_read(branch: Branch, store: Store) -> None:
    """The engine counts what it left out in what it was given: an empty reply on the way is passed over."""
    store.messages.finish(branch.path[-1].id, "", "cancelled", {})
    ask(branch, branch.path[-1].id, "again")
    assert [m.content for m in branch.path] == ["first", "two", "next", "", "again", ""]
    assert [branch.left_out(n) for n in (0, 2, 3, 4)] == [0, 2, 3, 5]


def test_the_newest_reply_says_what_was_left_out(branch: Branch) -> None:
    """The mark is there again when a chat is opened."""
    step(branch, branch.path[1].id, -1)
    assert branch.left_out() == 0
    step(branch, branch.path[1].id, 1)
    branch.path = branch.path[:2]
    assert branch.left_out() == 1


def test_a_failing_store_leaves_the_path(branch: Branch, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The window goes on showing what it has."""

    def full(*_: object, **__: object) -> None:
        raise StoreError("The disk is full.")

    before = branch.path
    monkeypatch.setattr(store.messages, "ask", full)
    said: list[str] = []
    branch.ask(None, "lost", lambda *_: pytest.fail("nothing was added"), said.append)
    assert said == ["The disk is full."]
    assert branch.path is before


def test_a_branch_that_grows_is_not_read_again(branch: Branch, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading 500 messages takes long; what was added is known, and is what the store would say."""
    read: list[int] = []
    path = store.messages.path
    monkeypatch.setattr(store.messages, "path", lambda chat: read.append(chat) or path(chat))
    ask(branch, branch.path[-1].id, "more")
    assert read == []
    assert branch.path == path(branch.chat)
    ask(branch, branch.path[0].id, None)
    assert read == [branch.chat]
    assert branch.path == path(branch.chat)
