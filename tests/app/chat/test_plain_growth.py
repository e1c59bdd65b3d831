"""Words added behind what is shown look as if all had been shown anew."""

import random
from collections.abc import Iterator

import pytest
from PySide6.QtGui import QTextDocument

from app.chat.body import MarkdownBody
from app.chat.markdown import blocks
from app.chat.plain_growth import grows_plainly
from app.chat.text_block import TextBlock
from app.theme import theme

WORDS = [
    "word",
    "two words",
    "It's",
    " ",
    " ",
    " ",
    ". ",
    ", ",
    ": ",
    "; ",
    "? ",
    "! ",
    "(so)",
    '"said"',
    "3.14",
    "1. ",
]
MARKS = ["2) ", "- ", "* ", "**", "*", "_", "__", "`", "``", "~~", "[", "](http://x.org)", "]", "<", ">", "&amp;", "&"]
LINES = ["#", "# ", "| ", " | ", "\\", "\n", "\n\n", "\n- ", "\n1. ", "\n> ", "\n---\n", "|-|-|\n", "\n=", "    ", "  "]
PIECES = [*WORDS, *MARKS, *LINES, "ß", "日本", "…", "\u00a0", "=", "!["]


def drawn(document: QTextDocument) -> list[tuple[str, str, str]]:
    """Every run of letters of one look: its words, its look, and that of its paragraph."""
    runs: list[tuple[str, str, str]] = []
    block = document.begin()
    while block.isValid():
        at = block.begin()
        item = f"{block.blockFormatIndex()} {block.textList().itemNumber(block) if block.textList() else ''}"
        while not at.atEnd():
            piece = at.fragment()
            form = piece.charFormat()
            colours = f"{form.foreground().color().name()} {form.background().style()}"
            look = f"{form.font().toString()} {colours} {form.isAnchor()}"
            if runs and runs[-1][1:] == (look, item):
                runs[-1] = runs[-1][0] + piece.text(), look, item
            else:
                runs.append((piece.text(), look, item))
            at += 1
        block = block.next()
    return runs


def cuts(seed: int) -> Iterator[tuple[str, str]]:
    """Texts of pieces that Markdown cares for, and mere words behind them, cut somewhere."""
    rng = random.Random(seed)
    for _ in range(400):
        text = "".join(rng.choices(PIECES, k=rng.randint(1, 8))) + "".join(
            rng.choices(PIECES[:18], k=rng.randint(1, 8))
        )
        at = rng.randint(1, len(text))
        yield text[:at].rstrip(), text[len(text[:at].rstrip()) :].rstrip(" ")


@pytest.mark.parametrize("seed", range(5))
def test_it_looks_as_if_shown_anew(qtbot, seed: int) -> None:
    """A shortcut that showed anything else than Markdown would make the text jump when it is finished."""
    grown = TextBlock()
    qtbot.addWidget(grown)
    whole = TextBlock()
    qtbot.addWidget(whole)
    used = 0
    for shown, new in cuts(seed):
        before, after = blocks(shown), blocks(shown + new)
        if not new or not grows_plainly(shown, new) or len(before) != 1 or before[0].kind != "text":
            continue
        used += 1
        assert [block.kind for block in after] == ["text"], (shown, new)
        grown.set_html(before[0].content)
        if not grown.ends_in_words():
            continue
        grown.append_plain(new)
        whole.set_html(after[0].content)
        assert drawn(grown.document()) == drawn(whole.document()), (shown, new)
    assert used > 20


@pytest.mark.parametrize(
    ("shown", "new"),
    [
        ("The sky", " is blue, and it is wide."),
        ("1. **Milk**: two", " litres (cold)"),
        ("First\nSecond", " line"),
        ("- a", "b"),
    ],
)
def test_ordinary_words_are_certain(shown: str, new: str) -> None:
    """If they were not, nothing would be gained."""
    assert grows_plainly(shown, new)


def test_words_are_added_without_another_parse(qtbot, monkeypatch) -> None:
    """While a reply streams on two cores, every parse is taken from the engine."""
    body = MarkdownBody()
    qtbot.addWidget(body)
    parsed: list[str] = []
    monkeypatch.setattr("app.chat.body.blocks", lambda text, env: parsed.append(text) or blocks(text, env))
    for piece in ("The **sky** is", " blue because ", "light", " is scattered", "."):
        body.append(piece)
    assert parsed == ["The **sky** is"]
    assert body.blocks()[0].toPlainText() == "The sky is blue because light is scattered."
    body.append(" **Why**")
    body.finish()
    assert body.blocks()[0].toPlainText() == "The sky is blue because light is scattered. Why"


def test_added_words_survive_a_change_of_colours(qtbot) -> None:
    """A change of colours makes the HTML anew; what was added behind it must not be lost until more text comes."""
    body = MarkdownBody()
    qtbot.addWidget(body)
    body.append("The **sky** is")
    body.append(" blue")
    theme().set_mode("dark")
    assert len(list(body.restyle())) == len(body.blocks())
    assert body.blocks()[0].toPlainText() == "The sky is blue"
