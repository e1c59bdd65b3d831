"""Markdown of a model made into blocks of safe HTML and code. Qt-free.

The text is untrusted: HTML is escaped, pictures become words, links keep only http, https and mailto. Parsing and
escaping are markdown-it's (CommonMark, tables, strikethrough); this module decides what may come out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from html import escape
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

HEADINGS = {"h1": 1.35, "h2": 1.2, "h3": 1.1, "h4": 1.0, "h5": 1.0, "h6": 1.0}  # size, as parts of the text's
SCHEMES = ("http", "https", "mailto")


@dataclass(frozen=True, slots=True)
class Block:
    """Something shown by one widget."""

    kind: str  # "text": `content` is HTML; "code": `content` is the code
    content: str
    language: str = ""
    indent: int = 0  # lists around it
    start: int = field(default=0, compare=False)  # of the source that it was made from, in characters
    end: int = field(default=0, compare=False)


def safe_url(url: str) -> str:
    """The address if it may be opened, else ""."""
    try:
        parts = urlsplit(url.strip())
    except ValueError:
        return ""
    complete = parts.netloc or parts.scheme == "mailto"
    return url.strip() if parts.scheme.lower() in SCHEMES and complete else ""


@lru_cache(maxsize=2)
def parser(structure_only: bool = False) -> MarkdownIt:
    """The parser, loaded when there is something to parse; it finds only where blocks end with `structure_only`."""
    from markdown_it import MarkdownIt

    class AnyLink(MarkdownIt):
        """Lets every link through: `inline_html` decides which may stay, and the words of the others must stay."""

        def validateLink(self, url: str) -> bool:
            return True

    md = AnyLink("commonmark", {"html": False, "breaks": True, "maxNesting": 60})
    md.enable(["table", "strikethrough"])
    return md.disable("inline") if structure_only else md


def blocks(source: str, env: dict[str, Any] | None = None) -> list[Block]:
    """The blocks of a text. `env` carries link definitions from one part of a message to the next."""
    env = {} if env is None else env
    writer = _Writer(env)
    for token in parser().parse(source, env):
        writer.take(token)
    return _placed(source, writer.done()) or _as_written(source)


def _placed(source: str, found: list[Block]) -> list[Block]:
    """The blocks with the characters of their source in place of its lines."""
    if len(found) == 1 and found[0].kind == "text":
        return [replace(found[0], end=len(source))]
    lines = [0, *(match.end() for match in re.finditer(r"\r\n?|\n", source)), len(source)]
    last = len(lines) - 1
    return [
        replace(
            block, start=lines[min(block.start, last)], end=lines[min(block.end, last)] if block.end else len(source)
        )
        for block in found
    ]


def _as_written(source: str) -> list[Block]:
    """For what Markdown would not show at all, link definitions or nesting without end: the text itself."""
    return [Block("text", f"<p>{escape(source.strip())}</p>", end=len(source))] if source.strip() else []


def language_of(info: str) -> str:
    """The language named after a fence: its first word, without braces and dots."""
    words = info.strip().strip("{}").split()
    return words[0].lstrip(".")[:40] if words else ""


class _Writer:
    """Turns the token stream into blocks. Code inside lists gets a block of its own (it needs its Copy button), so open
    containers are closed before it and opened again after it; list numbers go on."""

    def __init__(self, env: dict[str, Any]) -> None:
        self._env = env
        self._out: list[Block] = []
        self._html: list[str] = []
        self._open: list[_Container] = []
        self._line = 0  # of the source, where the text that is being written begins

    def take(self, token: Token) -> None:
        if token.type in ("fence", "code_block"):
            first, last = token.map or (self._line, self._line)
            self._break(first)
            indent = sum(c.tag in ("ul", "ol") for c in self._open)
            code, language = token.content.removesuffix("\n"), language_of(token.info)
            self._out.append(Block("code", code, language, indent, first, last))
            self._line = last
        elif token.type == "inline":
            self._html.append(inline_html(token.children or []))
        elif token.type == "hr":
            self._html.append("<hr>")
        elif token.tag in ("ul", "ol", "li", "blockquote"):
            self._container(token)
        elif token.tag == "p":
            self._html.append("" if token.hidden else ("<p>" if token.nesting == 1 else "</p>"))
        elif token.tag in HEADINGS:  # not <h1>: Qt would scale the size that the style sheet gives it once more
            self._html.append(f'<p class="{token.tag}">' if token.nesting == 1 else "</p>")
        elif token.tag in _PLAIN_TAGS:
            style = f' style="{token.attrs["style"]}"' if token.nesting == 1 and "style" in token.attrs else ""
            extra = ' cellspacing="0" cellpadding="5" border="1"' if token.tag == "table" and token.nesting == 1 else ""
            self._html.append(f"<{'/' if token.nesting < 0 else ''}{token.tag}{style}{extra}>")
        else:
            self._html.append(escape(token.content))

    def done(self) -> list[Block]:
        self._flush()
        return self._out

    def _container(self, token: Token) -> None:
        if token.nesting < 0:
            closed = self._open.pop()
            if closed.shown:
                self._html.append(f"</{closed.tag}>")
            return
        if token.tag == "li":
            parent = self._open[-1]
            parent.show(self._html)
            parent.number += 1
        opened = _Container(token.tag, int(token.attrs.get("start", 1)) if token.tag == "ol" else 1)
        self._open.append(opened)
        opened.show(self._html)

    def _break(self, line: int) -> None:
        for container in reversed(self._open):
            if container.shown:
                self._html.append(f"</{container.tag}>")
        self._flush(line)
        for container in self._open:
            container.shown = False
            if container.tag == "blockquote":
                container.show(self._html)

    def _flush(self, line: int = 0) -> None:
        """Make a block of what is written; `line` of the source is the first that is not its, 0 where all are."""
        html = "".join(self._html)
        if re.sub(r"</?(?:ul|ol|li|blockquote|p)\b[^>]*>|\s", "", html):
            self._out.append(Block("text", html, start=self._line, end=line))
        self._html = []


@dataclass(slots=True)
class _Container:
    tag: str
    number: int  # of the next item
    shown: bool = False

    def show(self, html: list[str]) -> None:
        if not self.shown:
            start = f' start="{self.number}"' if self.tag == "ol" and self.number != 1 else ""
            html.append(f"<{self.tag}{start}>")
            self.shown = True


_PLAIN_TAGS = ("table", "thead", "tbody", "tr", "th", "td")
_INLINE_TAGS = ("em", "strong", "s")


def inline_html(tokens: Sequence[Token]) -> str:
    """Safe HTML of the inside of a paragraph."""
    out: list[str] = []
    links: list[str] = []
    for token in tokens:
        match token.type:
            case "text" | "html_inline" | "text_special":
                out.append(escape(token.content))
            case "softbreak" | "hardbreak":
                out.append("<br>")
            case "code_inline":
                out.append(f"<code>{escape(token.content).replace(' ', '&nbsp;')}</code>")
            case "image":
                out.append(f"<i>[picture: {escape(token.content or 'no description')}]</i>")
            case "link_open":
                target = str(token.attrs.get("href", ""))
                links.append(safe_url(target))
                out.append(f'<a href="{escape(links[-1])}">' if links[-1] else "")
            case "link_close":
                out.append("</a>" if links.pop() else "")
            case _ if token.tag in _INLINE_TAGS:
                out.append(f"<{'/' if token.nesting < 0 else ''}{token.tag}>")
            case _:
                out.append(escape(token.content))
    return "".join(out)
