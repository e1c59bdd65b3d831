from pathlib import Path

import pytest

from app.chat.files import export_chat, file_name, import_chat
from app.chat.pane import ChatPane
from app.store import Store, StoreError
from tests.app.chat.chat_help import Engine


def test_files_out_and_in(pane: ChatPane, engine: Engine, store: Store, tmp_path: Path) -> None:
    """Markdown and JSON by extension, which is added when missing; back in as a new chat."""
    pane.send("q1")
    engine.answer("a1")
    written = export_chat(store, pane.chat, tmp_path / "x.json")
    assert export_chat(store, pane.chat, tmp_path / "chat.v2").name == "chat.v2.md"
    copy = import_chat(store, written)
    assert [m.content for m in store.messages.path(copy.id)] == ["q1", "a1"]
    with pytest.raises(StoreError, match=r"chat\.v2\.md is Markdown"):
        import_chat(store, tmp_path / "chat.v2.md")
    written.write_text(written.read_text().replace('"sampling": {}', '"sampling": {"temperature": 99}'))
    with pytest.raises(
        StoreError, match=r"x\.json cannot be imported: its sampling values are wrong: temperature is 99"
    ):
        import_chat(store, written)
    assert file_name('a/b: "c"?\n…', "md") == "a b c.md"
    assert file_name("...", "json") == "chat.json"
