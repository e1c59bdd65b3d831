from __future__ import annotations

import re

import pytest

from app.cli.provenance import Painter
from engine.trace import Token
from tests.fake_turn import fake_turn

ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
DRAFT = "\x1b[4;38;2;0;114;178m"
BONUS = "\x1b[1;38;2;230;159;0m"
FULL_COLOR = {"COLORTERM": "truecolor"}


def token(text: str, source: str) -> Token:
    """A token of which only text and source matter."""
    return Token(1, text, source, 0, 0.5, 1.0)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(8))
def test_colours_change_no_text(seed: int) -> None:
    """Whatever the colours do, the text is the reply."""
    turn = fake_turn(seed, finish="length")
    painter = Painter(True, FULL_COLOR)
    out = [painter.paint(r.emitted, r.text) for r in turn.rounds]
    assert ESCAPE.sub("", "".join(out)) == "".join(r.text for r in turn.rounds)


def test_each_source_has_its_style() -> None:
    """Accepted drafts are blue and underlined, the model's own tokens orange and bold, the rest plain."""
    tokens = [token("a", "draft"), token("b", "bonus"), token("c", "plain")]
    assert Painter(True, FULL_COLOR).paint(tokens, "abc") == f"{DRAFT}a\x1b[0m{BONUS}b\x1b[0mc"


def test_few_colours_are_enough() -> None:
    """A terminal that does not announce 24-bit colour gets the nearest of 256."""
    assert Painter(True, {}).paint([token("a", "draft")], "a") == "\x1b[4;38;5;25ma\x1b[0m"


def test_without_colours_there_are_no_escapes() -> None:
    """Piped output is text."""
    painter = Painter(False)
    assert painter.paint([token("a\x1b", "draft")], "a\x1b") == "a\\x1b"
    assert painter.legend() == ""


def test_text_held_back_keeps_its_colour() -> None:
    """A token whose text appears later, or in two parts, is coloured when it appears."""
    painter = Painter(True, FULL_COLOR)
    assert painter.paint([token("x<en", "draft")], "x") == f"{DRAFT}x\x1b[0m"
    assert painter.paint([token("!", "bonus")], "<en!") == f"{DRAFT}<en\x1b[0m{BONUS}!\x1b[0m"


def test_a_character_of_several_tokens_is_shown_whole() -> None:
    """Half characters show as U+FFFD in tokens and never in the text; what follows keeps its own colour."""
    tokens = [token("\ufffd", "draft"), token("\ufffd", "draft"), token(" ok", "bonus")]
    assert Painter(True, FULL_COLOR).paint(tokens, "漢 ok") == f"{DRAFT}漢\x1b[0m{BONUS} ok\x1b[0m"


def test_styles_end_at_the_line_end() -> None:
    """Otherwise some terminals underline the rest of the line."""
    assert Painter(True, FULL_COLOR).paint([token("a\n", "draft")], "a\n") == f"{DRAFT}a\x1b[0m\n"
