"""What the user says in synthesized conversations: sampled by the model itself, made from tasks, or from a file.

Tasks come from assets/training/tasks.json: templates to be filled with topics, names, numbers, sentences, and with
passages and code that the model wrote earlier. Knows no tokens.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.errors import ConfigError

TASKS = Path(__file__).resolve().parents[2] / "assets" / "training" / "tasks.json"
OWN_SHARE = 0.5  # of conversations start from what the model samples after its empty user header
PROMPTS_SHARE = 0.25  # start from the prompts file, if there is one; the shares of the others stay as they are
GREEDY_SHARE = 0.6
_TURNS = (1, 1, 1, 1, 1, 1, 2, 2, 2, 3)  # user turns of a conversation
_LONGEST_PASSAGE = 2400  # characters
_POOL = 400
_SHARES: dict[str, int] = {
    "general": 22,
    "passage": 26,
    "maker": 8,
    "code": 9,
    "edit": 5,
    "math": 9,
    "reasoning": 4,
    "question": 6,
    "translation": 5,
    "role": 4,
    "extract": 2,
}


@dataclass(frozen=True, slots=True)
class Outline:
    """One conversation to be written. `user`: what the user says by turn; None: the model is to write it."""

    user: tuple[str | None, ...]
    greedy: bool


class PromptMaker:
    """Makes outlines; remembers passages that it can build on. `share`: of conversations that start from `prompts`."""

    def __init__(self, seed: int, prompts: tuple[str, ...] = (), share: float = PROMPTS_SHARE) -> None:
        self._random = random.Random(seed)
        self._tasks: dict[str, list[str]] = json.loads(TASKS.read_text(encoding="utf-8"))
        self._prompts, self._share = prompts, share if prompts else 0.0
        self._waiting: list[str] = []  # prompts of the file that this round through it has not had
        self._passages: list[str] = []
        self._code: list[str] = []

    def outline(self) -> Outline:
        """The next conversation."""
        rng = self._random
        turns, greedy = rng.choice(_TURNS), rng.random() < GREEDY_SHARE
        given = rng.random() < self._share
        if not given and rng.random() < OWN_SHARE:
            return Outline((None,) * turns, greedy)
        first = self._next_prompt() if given else self._task()
        later = (None if rng.random() < 0.3 else self._fill("follow_ups") for _ in range(turns - 1))
        return Outline((first, *later), greedy)

    def keep(self, reply: str) -> None:
        """Remember a reply, to make tasks about it later."""
        if "```" in reply or "def " in reply:
            _remember(self._code, reply, self._random)
        elif len(reply) >= 200:
            _remember(self._passages, reply[:_LONGEST_PASSAGE], self._random)

    def _next_prompt(self) -> str:
        """All prompts of the file in turn, each time in another order."""
        if not self._waiting:
            self._waiting = self._random.sample(self._prompts, len(self._prompts))
        return self._waiting.pop()

    def _task(self) -> str:
        rng = self._random
        kind = rng.choices(list(_SHARES), list(_SHARES.values()))[0]
        makers: dict[str, Callable[[], str]] = {
            "general": lambda: self._fill("templates"),
            "passage": lambda: self._about(self._passages, "passage_tasks"),
            "maker": lambda: self._fill("passage_makers"),
            "code": lambda: self._fill("code_templates", c=rng.choice(self._tasks["code"])),
            "edit": lambda: self._about(self._code, "code_edits"),
            "math": lambda: self._fill("math"),
            "reasoning": lambda: self._fill("reasoning"),
            "question": self._question,
            "translation": self._translation,
            "role": self._role,
            "extract": lambda: self._fill("extract"),
        }
        return makers[kind]()

    def _about(self, pool: list[str], key: str) -> str:
        """A task about something that the model wrote, or a request to write something while there is nothing."""
        if pool:
            return self._fill(key, p=self._random.choice(pool))
        return self._fill("passage_makers" if key == "passage_tasks" else "code_templates", c=self._pick("code"))

    def _question(self) -> str:
        question = self._pick("questions")
        return self._fill("question_forms", q=question, Q=question[0].upper() + question[1:])

    def _translation(self) -> str:
        some = {key: " ".join(self._random.sample(self._tasks[name], self._random.choice((1, 1, 2))))
                for key, name in (("g", "german"), ("e", "english"))}  # fmt: skip
        return self._fill("translate", **some)

    def _role(self) -> str:
        return self._fill("role_forms", r=self._pick("roles"), a=self._fill("role_asks"))

    def _fill(self, key: str, **given: str) -> str:
        """A template with its slots filled; each `{x}` once, values are not looked at again."""
        rng, template = self._random, self._pick(key)
        topics, names = rng.sample(self._tasks["topics"], 2), rng.sample(self._tasks["names"], 3)
        values: dict[str, Any] = {
            **dict(zip("tu", topics, strict=True)),
            **{name.upper(): text[0].upper() + text[1:] for name, text in zip("tu", topics, strict=True)},
            **dict(zip("nmo", names, strict=True)),
            "a": rng.randint(4, 40),
            "b": rng.randint(2, 12),
            "c": 10 * rng.randint(5, 90),
            "d": rng.randint(2, 9),
            "e": rng.randint(2, 9),
            **given,
        }
        return template.format(**values)

    def _pick(self, key: str) -> str:
        return self._random.choice(self._tasks[key])


def read_prompts(path: Path) -> tuple[str, ...]:
    """Prompts of a file: one a line, as text, or as JSON with "prompt" or "turns". Raises `ConfigError`."""
    try:
        lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    except FileNotFoundError:
        raise ConfigError(f"{path} does not exist: give a file with one prompt a line.") from None
    except (OSError, UnicodeDecodeError):
        raise ConfigError(f"{path} cannot be read as UTF-8 text: give a file with one prompt a line.") from None
    if not lines:
        raise ConfigError(f"{path} is empty: give a file with one prompt a line.")
    return tuple(_prompt(path, number, line) for number, line in enumerate(lines, 1))


def _prompt(path: Path, number: int, line: str) -> str:
    if not line.startswith("{"):
        return line
    try:
        value = json.loads(line)
        found = value["prompt"] if "prompt" in value else value["turns"][0]
    except (ValueError, KeyError, IndexError, TypeError):
        found = None
    if not isinstance(found, str) or not found.strip():
        raise ConfigError(f'Line {number} of {path.name} is no prompt: write text, or {{"prompt": "…"}}.')
    return found.strip()


def _remember(pool: list[str], text: str, rng: random.Random) -> None:
    if len(pool) < _POOL:
        pool.append(text)
    else:
        pool[rng.randrange(_POOL)] = text
