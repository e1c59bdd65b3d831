"""What is said about tokens in words, and that it can be broken into lines without tearing it."""

from __future__ import annotations

import re

import pytest
from PySide6.QtGui import QFont, QTextLayout, QTextOption

from app.chat.provenance import Provenance
from app.chat.token_words import legend, summary
from tests.fake_turn import fake_turn

TORN = re.compile(r"[✓★·¹✕]$|\d+$|^\d+\b(?! tokens)")  # a line that ends with a mark or a number, or begins with one


def _lines(text: str, width: int) -> list[str]:
    """The text as a word-wrapping label of that width would break it."""
    layout = QTextLayout(text, QFont("sans", 9))
    layout.setTextOption(QTextOption())
    layout.beginLayout()
    found = []
    while (line := layout.createLine()).isValid():
        line.setLineWidth(width)
        found.append(text[line.textStart() : line.textStart() + line.textLength()].strip(" "))
    layout.endLayout()
    return found


@pytest.mark.usefixtures("qapp")
@pytest.mark.parametrize("width", range(150, 700, 25))
def test_a_mark_its_number_and_their_word_stay_in_one_line(width: int) -> None:
    """A mark like ¹ at the end of one line and its number on the next is read as a footnote of something else."""
    for line in _lines(legend(Provenance.of(fake_turn(5, rounds=12))), width):
        assert not TORN.search(line.replace("\u00a0", " ")), line


def test_the_words_are_those_of_the_counts() -> None:
    """A screen reader gets the same numbers, with common blanks."""
    turn = fake_turn(5, rounds=12)
    provenance = Provenance.of(turn)
    counts = provenance.counts()
    words = summary(provenance)
    assert words.startswith(f"{len(turn.tokens)} tokens: ✓ {counts['draft']} accepted draft, ★ {counts['bonus']} bonus")
    assert summary(Provenance()) == "no tokens"
