"""Whether text that arrives can be put behind what is shown without asking Markdown again. Qt-free.

Most words of a reply mean nothing but themselves. Where that is certain, the unfinished paragraph grows by them; to
parse it and lay it out anew would cost several times as much and show the same.
"""

from __future__ import annotations

import re

# No mark, no line break, no second space.
_WORDS = re.compile(r"(?!.*  )[^\x00-\x1f\\`*_\[\]<>#|~&\u00a0\u0085\u2028\u2029]+")
_PROSE = re.compile(r" {0,3}(?:(?:[-*+]|\d{1,9}[.)]) +)*[\"'(*_]{0,3}[^\W\d_][^|&\[<\\\r\x00]*")
_MARKS = frozenset("*_~`")


def grows_plainly(shown: str, new: str) -> bool:
    """Whether Markdown shows `shown + new` as it shows `shown`, with the words of `new` behind it.

    `shown`: the source of an unfinished block; `new`: what comes next. False also where it is only not certain.
    """
    line = shown.rpartition("\n")[2]
    if not shown or shown[-1].isspace() or shown[-1] in _MARKS:
        return False
    return _WORDS.fullmatch(new) is not None and _PROSE.fullmatch(line) is not None and "[" not in shown
