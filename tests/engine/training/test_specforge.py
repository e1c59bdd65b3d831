"""Conversations written for SpecForge hold what was said, and nothing of the template around it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from engine.errors import ModelFolderError
from engine.tokenizer import Tokenizer
from engine.training.chat_pieces import ChatPieces
from engine.training.conversations import Conversation, DataSet
from engine.training.specforge import write_conversations
from tests.tiny import TEMPLATE, tiny_tokenizer


def tokenizer(template: str = TEMPLATE) -> Tokenizer:
    """The tiny one."""
    return Tokenizer(tiny_tokenizer(), template, stop_ids=(2, 0), bos_id=1)


def conversation(*texts: str) -> Conversation:
    """User and assistant by turns, as a writer stores them: the last end-of-turn token belongs to the reply."""
    pieces, tok = ChatPieces.of(tokenizer()), tokenizer()
    ids, spans = list(pieces.start), []
    for number, text in enumerate(texts):
        if number % 2:
            spans.append((len(ids), len(ids) + len(tok.encode(text)) + 1))
            ids += [*tok.encode(text), *pieces.to_user]
        else:
            ids += [*tok.encode(text), *pieces.to_reply]
    return Conversation(np.array(ids[: spans[-1][1]], np.int32), tuple(spans))


def test_the_pieces_make_the_rendered_conversation() -> None:
    """What a writer puts together is what the template renders."""
    messages = [{"role": r, "content": c} for r, c in (("user", "in the"), ("assistant", "on ü"), ("user", "then"))]
    pieces, tok = ChatPieces.of(tokenizer()), tokenizer()
    parts = [pieces.start, tok.encode("in the"), pieces.to_reply, tok.encode("on ü"), pieces.to_user]
    parts += [tok.encode("then"), pieces.to_reply]
    assert [i for part in parts for i in part] == tok.encode_chat(messages)


def test_a_template_that_changes_the_text_is_refused() -> None:
    """Its conversations could not be put together from pieces."""
    for change in ("{{ m.content | upper }}", "{{ m.content }}{{ m.content }}", ""):
        with pytest.raises(ModelFolderError, match="no training text"):
            ChatPieces.of(tokenizer(TEMPLATE.replace("{{ m.content }}", change)))


def test_roles_and_texts_come_back(tmp_path: Path) -> None:
    """Also of the shared layout, whose last token may be cut, and of replies in other alphabets."""
    two = conversation("say it", "語 and 😀", "again", "é")
    cut = conversation("say it", "then").cut(len(conversation("say it", "then").ids) - 2)
    foreign = Conversation(np.arange(3, 40, dtype=np.int32), ((10, 20),))
    count = write_conversations(tmp_path / "t.jsonl", DataSet.of([two, cut, foreign]), tokenizer())
    lines = [json.loads(line) for line in (tmp_path / "t.jsonl").read_text(encoding="utf-8").splitlines()]
    assert count == len(lines) == 2
    assert lines[0] == {
        "id": "eyrie-0",
        "conversations": [
            {"role": "user", "content": "say it"},
            {"role": "assistant", "content": "語 and 😀"},
            {"role": "user", "content": "again"},
            {"role": "assistant", "content": "é"},
        ],
    }
    assert lines[1]["conversations"][0] == {"role": "user", "content": "say it"}
