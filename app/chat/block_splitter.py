"""Where the blocks of a text end while it is still arriving. Qt-free; makes no HTML.

What stands before the last block that has begun can change no more; of the rest, open code can be shown as it comes.
"""

from __future__ import annotations

import re

from app.chat.markdown import language_of, parser

ENDING = re.compile(r"\n[ \t]*\n(?![-*+>|]|\d+[.)])\S.*\n|\n(?:#|```|~~~)")  # a line that may begin a new block
LONG, GROWTH = 200, 1.5  # characters; part
BLANK = re.compile(r"(?:[ \t]*\n)+")
OPENER = re.compile(r"^ {0,3}(`{3,}(?=[^`]*$)|~{3,})\s*(.*?)\s*$")


class BlockSplitter:
    """Finds, while a text arrives, which top-level blocks can change no more.

    A block is finished when another one has begun below it, judged by whole lines.

    Attributes:
        tail: what has arrived since the last finished block.
    """

    def __init__(self) -> None:
        self.tail = ""
        self._checked = 0  # characters of the tail's open code block that hold no closing line
        self._parsed = 0  # characters of the tail when it was parsed last

    def feed(self, text: str) -> str:
        """Add text; return the source that is now finished ("" mostly)."""
        self.tail += text
        finished = ""
        while "\n" in text:
            blank = BLANK.match(self.tail)
            opener = OPENER.match(self.tail.partition("\n")[0])
            cut = blank.end() if blank else self._code_end(opener) if opener else self._block_end(text)
            if not cut:
                break
            finished += self.tail[:cut]
            text = self.tail = self.tail[cut:]
            self._checked = self._parsed = 0
        return finished

    def code(self) -> tuple[str, str] | None:
        """(language, code so far) when the tail is a fenced code block, else None."""
        first, newline, rest = self.tail.partition("\n")
        opener = OPENER.match(first)
        if not newline or opener is None:
            return None
        fence = opener[1]
        body, _, last = rest.rpartition("\n") if "\n" in rest else ("", "", rest)
        closing = re.fullmatch(rf" {{0,3}}{re.escape(fence[0])}*\s*", last)
        shown = rest if last and not closing else body + ("\n" if "\n" in rest else "")
        ended = _closing(fence).search(shown)
        return language_of(opener[2]), shown[: ended.start()] if ended else shown

    def _code_end(self, opener: re.Match[str]) -> int:
        """Where the open code block is closed, 0 when it is not; looks only at what is new."""
        closing = _closing(opener[1]).search(self.tail, max(self._checked, len(opener[0])))
        if closing:
            end = self.tail.find("\n", closing.end())
            return end + 1
        self._checked = max(0, self.tail.rfind("\n", 0, len(self.tail) - 1))
        return 0

    def _block_end(self, new: str) -> int:
        """Where the last top-level block begins, when there is one before it; else 0.

        A long list or table is parsed again only when a line arrives that may end it, or when it has grown by a part.
        """
        size = len(self.tail)
        if size > LONG and size < self._parsed * GROWTH and not ENDING.search(self.tail, max(0, size - len(new) - 2)):
            return 0
        self._parsed = size
        whole = self.tail[: self.tail.rfind("\n") + 1]
        tokens = parser(structure_only=True).parse(whole)
        starts = [t.map[0] for t in tokens if t.level == 0 and t.nesting >= 0 and t.map]
        last = starts[-1] if starts else 0  # lines before the only block hold nothing that is shown, link definitions
        return sum(len(line) + 1 for line in whole.split("\n")[:last])


def _closing(fence: str) -> re.Pattern[str]:
    return re.compile(rf"^ {{0,3}}{re.escape(fence[0])}{{{len(fence)},}}[ \t]*$", re.MULTILINE)
