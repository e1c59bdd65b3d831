from __future__ import annotations

import io

import pytest

from app.cli.terminal import harmless, plain_marks, prepare_streams, quoted, wants_color


class Screen(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_control_characters_are_written_out() -> None:
    """A model must not move the cursor, set the title, clear the screen or reorder text."""
    assert harmless("a\x1b[2Jb\x07\r\x9b\x7f\u202ec") == "a\\x1b[2Jb\\x07\\x0d\\x9b\\x7f\\u202ec"


def test_ordinary_text_is_untouched() -> None:
    """Tabs, line ends, accents, CJK, emoji and joiners are text."""
    text = "tab\t line\n ü 漢字 👩\u200d🚀 \u200f"
    assert harmless(text) == text


def test_quoted_is_one_line() -> None:
    """A token in a tree must not break the tree."""
    assert quoted(" a\n\t\x1b") == '" a\\n\\t\\x1b"'


def test_marks_become_ascii_where_needed() -> None:
    """A Latin-1 terminal shows + x * instead of question marks."""
    narrow = io.TextIOWrapper(io.BytesIO(), encoding="latin-1")
    assert plain_marks("├─ ✓ a ✕ ★ τ", narrow) == "|- + a x * tau"
    wide = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    assert plain_marks("├─ ✓", wide) == "├─ ✓"


def test_no_character_ends_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """Output in an ASCII locale replaces what it cannot show."""
    raw = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(raw, encoding="ascii"))
    prepare_streams()
    print("漢", flush=True)
    assert raw.getvalue() == b"?\n"


@pytest.mark.parametrize(
    ("choice", "stream", "environ", "expected"),
    [
        ("always", io.StringIO(), {"NO_COLOR": "1"}, True),
        ("never", Screen(), {}, False),
        ("auto", Screen(), {}, True),
        ("auto", io.StringIO(), {}, False),
        ("auto", Screen(), {"NO_COLOR": "1"}, False),
        ("auto", Screen(), {"TERM": "dumb"}, False),
    ],
)
def test_when_to_colour(choice: str, stream: io.StringIO, environ: dict[str, str], expected: bool) -> None:
    """A file must not fill with escape sequences, and NO_COLOR is a promise."""
    assert wants_color(choice, stream, environ) is expected  # type: ignore[arg-type]
