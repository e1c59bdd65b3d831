import json
import os
from pathlib import Path

import pytest

from app.store import Store, StoreError
from app.store.exchange import to_json, to_markdown, write_file
from app.store.importing import from_json, import_file


@pytest.fixture
def chat(store: Store) -> int:
    """A chat with two branches of which the older is shown."""
    record = store.chats.new("Herons", system_prompt="be brief", sampling={"temperature": 0.7}, model="m")
    q = store.messages.add(record.id, None, "user", "Why?")
    shown = store.messages.add(record.id, q.id, "assistant", "Because.\n\n```python\nprint(1)\n```", "stop_token")
    store.messages.add(record.id, q.id, "assistant", "Another é\ufffd", "length")
    store.messages.choose(shown.id)
    return record.id


def shape(store: Store, chat: int) -> list[tuple[object, ...]]:
    """All that must survive, without ids."""
    return [(m.role, m.content, m.created, m.finish_reason, m.version, m.stats) for m in store.messages.tree(chat)]


def test_json_brings_back_every_branch(store: Store, chat: int) -> None:
    """Export, import: the same conversation, the same shown branch."""
    copy = from_json(store, to_json(store, chat))
    assert shape(store, copy.id) == shape(store, chat)
    assert [m.content for m in store.messages.path(copy.id)] == [m.content for m in store.messages.path(chat)]
    assert (copy.title, copy.system_prompt, copy.sampling, copy.model) == (
        "Herons",
        "be brief",
        {"temperature": 0.7},
        "m",
    )


def test_markdown_is_the_shown_branch(store: Store, chat: int) -> None:
    """What a person shares is what is on screen."""
    text = to_markdown(store, chat)
    assert text.startswith("# Herons\n")
    assert "## System prompt\n\nbe brief" in text
    assert "## You\n\nWhy?\n\n## Assistant\n\nBecause.\n\n```python\nprint(1)\n```\n" in text
    assert "Another" not in text


def document(**changes: object) -> dict[str, object]:
    """A valid file with some fields replaced."""
    message = {"id": 1, "parent": None, "role": "user", "content": "hi"}
    return {"format": "eyrie-conversation", "version": 1, "title": "t", "messages": [message], **changes}


def message(**changes: object) -> dict[str, object]:
    """A message of a file."""
    return {"id": 2, "parent": 1, "role": "assistant", "content": "x", **changes}


FIRST = {"id": 1, "parent": None, "role": "user", "content": "hi"}
BROKEN = {
    "empty": b"",
    "binary": b"\xff\xfe\x00\x01",
    "cut": b'{"format": "eyrie-conversation"',
    "deep": b"[" * 100_000,
    "long number": b'{"format": "eyrie-conversation", "version": ' + b"9" * 5000 + b"}",
    "list": b"[]",
    "other format": json.dumps(document(format="chatgpt")),
    "no version": json.dumps(document(version=None)),
    "version true": json.dumps(document(version=True)),
    "newer": json.dumps(document(version=2)),
    "title": json.dumps(document(title=7)),
    "sampling": json.dumps(document(sampling=[])),
    "created": json.dumps(document(created="yesterday")),
    "created nan": json.dumps(document(created=float("nan"))),
    "huge time": json.dumps(document(created=1e300)),
    "no messages": json.dumps(document(messages=None)),
    "message": json.dumps(document(messages=["hi"])),
    "id": json.dumps(document(messages=[{**FIRST, "id": "1"}])),
    "huge id": json.dumps(document(messages=[{**FIRST, "id": 2**70}])),
    "same id": json.dumps(document(messages=[FIRST, FIRST])),
    "role": json.dumps(document(messages=[{**FIRST, "role": "tool"}])),
    "role list": json.dumps(document(messages=[{**FIRST, "role": ["user"]}])),
    "content": json.dumps(document(messages=[{**FIRST, "content": None}])),
    "parent": json.dumps(document(messages=[FIRST, message(parent=9)])),
    "parent list": json.dumps(document(messages=[FIRST, message(parent=[])])),
    "circle": json.dumps(document(messages=[message(id=1, parent=2), message(id=2, parent=1)])),
    "active root": json.dumps(document(active_root=5)),
    "active child": json.dumps(document(messages=[{**FIRST, "active_child": 1}])),
    "finish": json.dumps(document(messages=[{**FIRST, "finish_reason": 1}])),
    "stats": json.dumps(document(messages=[{**FIRST, "stats": "x"}])),
}


@pytest.mark.parametrize("name", BROKEN)
def test_every_broken_file_is_one_sentence(store: Store, name: str) -> None:
    """No traceback, no half-made chat."""
    with pytest.raises(StoreError) as caught:
        from_json(store, BROKEN[name], name="mine.json")
    text = str(caught.value)
    assert text.startswith("mine.json cannot be imported: ")
    assert text.endswith(".")
    assert "\n" not in text
    assert store.chats.list() == []


def test_children_may_come_before_parents(store: Store) -> None:
    """Order in the file is not a promise; a file without choices shows the newest version."""
    text = json.dumps(document(messages=[message(), message(id=3, content="y"), FIRST]))
    chat = from_json(store, "\ufeff".encode() + text.encode())
    assert [m.content for m in store.messages.path(chat.id)] == ["hi", "y"]


def test_sampling_values_are_checked_by_the_caller(store: Store) -> None:
    """The store knows no ranges; the window's check speaks."""

    def check(values: dict[str, object]) -> None:
        raise ValueError("temperature is 9: give a value from 0 to 5.")

    with pytest.raises(StoreError, match="temperature is 9"):
        from_json(store, json.dumps(document(sampling={"temperature": 9})), check)


def test_files(store: Store, chat: int, tmp_path: Path) -> None:
    """Write whole or not at all; read errors name the file."""
    path = tmp_path / "out.json"
    write_file(path, to_json(store, chat))
    assert import_file(store, path).title == "Herons"
    assert [p.name for p in tmp_path.glob("*out*")] == ["out.json"]
    with pytest.raises(StoreError, match=r"missing\.json could not be read"):
        import_file(store, tmp_path / "missing.json")
    with pytest.raises(StoreError, match=r"x\.md could not be written"):
        write_file(tmp_path / "nowhere" / "x.md", "text")
    os.makedirs(tmp_path / "folder.md")
    with pytest.raises(StoreError, match=r"folder\.md could not be written"):
        write_file(tmp_path / "folder.md", "text")
