"""Conversations as SpecForge takes them (https://github.com/sgl-project/SpecForge): JSON Lines with roles.

One object a line: {"id": …, "conversations": [{"role": "user", "content": …}, {"role": "assistant", …}]}. The text of
the chat template around them is left out: SpecForge renders its own.
"""

from __future__ import annotations

import json
from pathlib import Path

from engine.tokenizer import Tokenizer
from engine.training.chat_pieces import ChatPieces
from engine.training.conversations import Conversation, DataSet


def write_conversations(path: Path, data: DataSet, tokenizer: Tokenizer) -> int:
    """Write the conversations that can be told apart into roles; returns how many. `path` appears whole."""
    pieces, written = ChatPieces.of(tokenizer), 0
    part = path.with_name(path.name + ".part")
    with part.open("w", encoding="utf-8") as file:
        for index in range(len(data)):
            turns = messages(data[index], pieces, tokenizer)
            if turns:
                line = {"id": f"eyrie-{index}", "conversations": turns}
                file.write(json.dumps(line, ensure_ascii=False) + "\n")
                written += 1
    part.replace(path)
    return written


def messages(conversation: Conversation, pieces: ChatPieces, tokenizer: Tokenizer) -> list[dict[str, str]]:
    """Roles and texts of a conversation; none where it does not follow the template."""
    ids, out, at = conversation.ids.tolist(), [], len(pieces.start)
    if tuple(ids[:at]) != pieces.start:
        return []
    for number, (first, end) in enumerate(conversation.spans):
        if number:
            at += len(pieces.to_user) - 1  # its end-of-turn token belongs to the reply
        before = first - len(pieces.to_reply)
        if before < at or tuple(ids[before:first]) != pieces.to_reply:
            return []
        out.append({"role": "user", "content": tokenizer.decode(ids[at:before])})
        out.append({"role": "assistant", "content": tokenizer.decode(ids[first:end])})
        at = end
    return out
