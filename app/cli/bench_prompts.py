"""The prompts of `bench`: read from a JSON Lines file, or a small set of our own. Knows no engine."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine import EyrieError


class PromptFileError(EyrieError):
    """A prompts file cannot be read."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """One thing to answer."""

    id: str
    category: str
    text: str


_PASSAGES = (
    "The old lighthouse at the end of the harbour wall was built in 1871, after two ships were lost on the rocks "
    "in one winter. For ninety years a keeper lived in it with his family, lit the lamp at dusk and wound the "
    "clockwork that turned it every four hours. In 1961 the lamp was replaced by an electric one, and the keeper "
    "moved into the town. Today the lighthouse is a small museum, run by volunteers, which is open from May to "
    "September. Visitors can climb the 112 steps to the lamp room, see the old clockwork, and read the log books "
    "of four generations of keepers.",
    "The town council has decided to close the main street to cars on Saturdays, from ten in the morning to six "
    "in the evening. The trial starts in April and lasts six months. Shops may be supplied before ten, and buses "
    "use the ring road. Some shopkeepers fear that customers from the villages will stay away; others hope for "
    "more guests at tables outside. In October the council will count visitors and sales, ask residents, and "
    "decide whether the street stays closed on Saturdays for good.",
)
_CODE = (
    "def average(lst):\n    if not lst:\n        return 0.0\n    total = 0\n    for value in lst:\n"
    "        total += value\n    return total / len(lst)\n\n\ndef spread(lst):\n    if not lst:\n"
    "        return 0.0\n    return max(lst) - min(lst)",
    "class Stack:\n    def __init__(self):\n        self.items = []\n\n    def push(self, item):\n"
    "        self.items.append(item)\n\n    def pop(self):\n        return self.items.pop()\n\n"
    "    def size(self):\n        return len(self.items)",
)
BUILT_IN = tuple(
    Prompt(f"{category}-{i}", category, text)
    for category, texts in {
        "writing": (
            "Write a short letter to a neighbour who looked after your garden while you were away.",
            "Describe an old railway station at dawn in one paragraph.",
        ),
        "explaining": (
            "Explain why the sky is blue to a ten-year-old.",
            "What is the difference between weather and climate?",
        ),
        "code": (
            "Write a Python function that returns the n-th Fibonacci number, with a docstring.",
            "Write an SQL query that lists the five customers with the most orders.",
        ),
        "lists": (
            "Give me a packing list for a weekend of hiking.",
            "List ten common English verbs with their past tense.",
        ),
        "reasoning": (
            "A train leaves at 14:35 and arrives at 17:10. How long is the journey? Explain step by step.",
            "I have three red socks and five blue socks in a dark drawer. How many must I take to be sure of a pair?",
        ),
        "summary": tuple(f"Summarize the following text.\n\n{passage}" for passage in _PASSAGES),
        "code edit": (
            f"Rename `lst` to `items` in this code and show all of it again:\n\n```python\n{_CODE[0]}\n```",
            f"Add type hints to this class and show all of it again:\n\n```python\n{_CODE[1]}\n```",
        ),
    }.items()
    for i, text in enumerate(texts, 1)
)


def read_prompts(path: Path) -> list[Prompt]:
    """One prompt per line: {"turns": [first, ...]} or {"prompt": text}; "id" and "category" are optional.

    Raises `PromptFileError` naming file and line.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise PromptFileError(f"{path} cannot be read: {why}.") from error
    prompts = [_parse(line, f"{path}, line {i}", i) for i, line in enumerate(text.splitlines(), 1) if line.strip()]
    if not prompts:
        raise PromptFileError(f'{path} holds no prompts: give one JSON object per line, such as {{"prompt": "Hi"}}.')
    names = [p.id for p in prompts]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise PromptFileError(f"{path} has the id {twice!r} twice: ids must differ, or leave them out.")
    return prompts


def _parse(line: str, where: str, number: int) -> Prompt:
    try:
        values: Any = json.loads(line)
    except ValueError:
        raise PromptFileError(f"{where} is not JSON: give one object per line.") from None
    turns = values.get("turns") if isinstance(values, dict) else None
    text = turns[0] if isinstance(turns, list) and turns else values.get("prompt") if isinstance(values, dict) else None
    if not isinstance(text, str) or not text.strip():
        raise PromptFileError(f'{where} has no prompt: give "prompt": a text, or "turns": a list of texts.')
    return Prompt(str(values.get("id", values.get("question_id", number))), str(values.get("category", "")), text)
