"""A data folder as a user has it after a year, for `block_tour`: a chat of 500 messages, hundreds of others, a reply of
200 rounds with its trace. Made without a model.
"""

from __future__ import annotations

import json
from pathlib import Path

from app.chat.stats import message_stats
from app.store import Store
from app.store.exchange import FORMAT, VERSION
from app.store.importing import from_json
from engine import Turn
from engine.trace_json import trace_to_json
from tests.fake_engine import long_turn
from tests.fake_turn import PIECES, fake_turn

LONG, OTHERS, OTHER_LENGTH = 500, 400, 24  # messages of the long chat; other chats, and messages of each
ROUNDS = 200
WORDS = "The heron waited at the edge of the river while the morning fog lifted from the reeds. " * 4
CODE = "\n\n```python\ndef circles(count: int) -> list[str]:\n    return [f'circle {n}' for n in range(count)]\n```\n\n"
LIST = "\n\n- **first** a lamp\n- then `one` circle\n- a [link](https://example.org)\n\n"
SPOKEN = (*PIECES[:40], "\n\n", *PIECES[40:], *LIST.split(" "), *(" " + word for word in WORDS.split()), CODE)


def streamed(rounds: int) -> Turn:
    """A turn that takes about 20 ms a round: paragraphs, lists and code."""
    return long_turn(fake_turn(3, rounds=60, tokens=SPOKEN), rounds)


def conversation(title: str, messages: int) -> str:
    """A conversation file: prompts, and replies with code in every fifth."""
    told = []
    for n in range(messages):
        reply = WORDS + (CODE if n % 10 == 1 else LIST if n % 10 == 3 else "") + f"Message {n} of a needle."
        role, content = ("assistant", reply) if n % 2 else ("user", f"What about circle {n}? {WORDS[:120]}")
        told.append({"id": n, "parent": n - 1 if n else None, "role": role, "content": content})
        told[-1]["finish_reason"] = "stop_token" if n % 2 else ""
    return json.dumps({"format": FORMAT, "version": VERSION, "title": title, "messages": told})


def fill(folder: Path) -> dict[str, int]:
    """Write the chats; returns ids by name: "long", "rounds", "plain"."""
    store = Store(folder)
    for n in range(OTHERS):
        from_json(store, conversation(f"An older chat, number {n}", OTHER_LENGTH))
    ids = {"long": from_json(store, conversation("A long chat", LONG)).id, "rounds": store.chats.new("Rounds").id}
    turn = streamed(ROUNDS)
    asked = store.messages.add(ids["rounds"], None, "user", "Tell me a story.")
    reply = store.messages.add(ids["rounds"], asked.id, "assistant")
    store.messages.finish(reply.id, turn.text, "length", message_stats(turn))
    store.traces.save(reply.id, trace_to_json(turn))
    ids["plain"] = store.chats.new("Streaming").id
    store.close()
    return ids
