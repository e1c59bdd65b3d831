"""Chat templates: a conversation into the text a model was trained on.

A template comes with a model file from anywhere, so it is treated as hostile: it renders in jinja2's immutable
sandbox, it may neither loop past a deadline nor build huge text, and all it can see is the conversation.
Knows nothing of tokens.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NoReturn

import jinja2
from jinja2 import nodes
from jinja2.ext import Extension
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from engine.errors import ModelFolderError

LONGEST_TEMPLATE = 1_000_000  # characters
LONGEST_OUTPUT = 50_000_000
RENDER_SECONDS = 2.0
_LONGEST_PRODUCT = 1_000_000


class ChatTemplate:
    """One compiled template. `name` is the model's, for messages."""

    def __init__(self, source: str, *, name: str, bos_token: str = "", eos_token: str = "") -> None:
        self._name = name
        self._tokens = {"bos_token": bos_token, "eos_token": eos_token}
        self._env = _Sandbox()
        if len(source) > LONGEST_TEMPLATE:
            self._fail(f"is longer than {LONGEST_TEMPLATE} characters")
        try:
            self._template = self._env.guarded_template(source)
        except Exception as error:
            self._fail(f"cannot be read: {_first_line(error)}")

    def render(self, messages: Sequence[Mapping[str, str]], *, add_generation_prompt: bool = True) -> str:
        """The conversation as text. A template that refuses it or fails raises `ModelFolderError`."""
        context = {
            "messages": [dict(message) for message in messages],
            "add_generation_prompt": add_generation_prompt,
            "tools": None,
            "documents": None,
            **self._tokens,
        }
        parts, size = [], 0
        self._env.start_clock(RENDER_SECONDS)
        try:
            for part in self._template.generate(context):
                parts.append(part)
                size += len(part)
                if size > LONGEST_OUTPUT:
                    _refuse("it writes without end")
        except Exception as error:
            self._fail(f"failed: {_first_line(error)}")
        return "".join(parts)

    def _fail(self, what: str) -> NoReturn:
        raise ModelFolderError(f"The chat template of {self._name} {what.rstrip('.')}.") from None


class _GenerationTag(Extension):
    """`{% generation %}` marks what training learns from; for rendering it is only its content."""

    tags = {"generation"}  # noqa: RUF012 - jinja2's own declaration

    def parse(self, parser: Parser) -> list[nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


class _Sandbox(ImmutableSandboxedEnvironment):
    """jinja2's immutable sandbox as Hugging Face sets it up, with a clock in every loop and macro."""

    intercepted_binops = frozenset({"*", "**"})

    def __init__(self) -> None:
        super().__init__(trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols", _GenerationTag])
        self._clock = threading.local()
        self.globals.pop("lipsum")
        self.globals.update(raise_exception=_refuse, strftime_now=_strftime_now)
        self.filters["tojson"] = _tojson

    def guarded_template(self, source: str) -> jinja2.Template:
        """Compile `source` with a check of the clock at the start of every loop body and macro body."""
        tree = self.parse(source)
        bodies = [node.body for node in tree.find_all(nodes.For)]
        bodies += [node.body for node in tree.find_all(nodes.Macro)]
        bodies += [node.body for node in tree.find_all(nodes.CallBlock)]
        for body in bodies:
            body.insert(0, nodes.ExprStmt(nodes.Call(nodes.EnvironmentAttribute("tick"), [], [], None, None)))
        return jinja2.Template.from_code(self, self.compile(tree), self.make_globals(None))

    def start_clock(self, seconds: float) -> None:
        """Give this thread's rendering that long."""
        self._clock.end = time.monotonic() + seconds

    def tick(self) -> None:
        """Called by the compiled template; stops one that loops for too long."""
        if time.monotonic() > self._clock.end:
            _refuse(f"it ran longer than {RENDER_SECONDS:g} seconds")

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """Products and powers stay small: 'a' * 10**10 must not fill the memory."""
        sizes = [
            v.bit_length() if isinstance(v, int) else len(v) if hasattr(v, "__len__") else 0 for v in (left, right)
        ]
        repeats = [v for v in (left, right) if isinstance(v, int)]
        if operator == "**":
            too_big = isinstance(left, int) and isinstance(right, int) and sizes[0] * right > 4096
        else:
            too_big = (
                sum(sizes) > 4096 if len(repeats) == 2 else max(sizes) * max(repeats, default=1) > _LONGEST_PRODUCT
            )
        if too_big:
            _refuse(f"the result of {operator} is too large")
        return super().call_binop(context, operator, left, right)


def _refuse(message: str) -> NoReturn:
    raise jinja2.TemplateError(message)


def _strftime_now(form: str) -> str:
    return datetime.now().strftime(form)


def _tojson(value: Any, ensure_ascii: bool = False, indent: int | None = None, **options: Any) -> str:
    """JSON as Hugging Face templates expect it: not escaped for HTML."""
    known = {key: options[key] for key in ("separators", "sort_keys") if key in options}
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=None if indent is None else min(indent, 16), **known)


def _first_line(error: Exception) -> str:
    lines = str(error).split("\n")
    return lines[0].strip()[:300] or type(error).__name__
