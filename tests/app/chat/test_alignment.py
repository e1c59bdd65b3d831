import random
import time

import pytest
from PySide6.QtGui import QTextDocument

from app.chat.alignment import Alignment, align
from app.chat.markdown import blocks
from app.trace_shelf import shipped_traces
from engine import load_trace
from tests.app.chat.markdown_sample import SAMPLE

KINDS = {
    "emphasis": "Some **bold words**, _slanted_ ones, ~~gone~~ and un**believ**able ***both***.\nA second line.",
    "code": "Call `x[0](y)` or ``a ` b`` with `two  blanks`, then `more`.",
    "links": 'See [docs](https://docs.python.org/docs "docs here") docs, [a](b) b c, <https://e.org/a> and [r][docs].'
    "\n\n[docs]: https://e.org/docs\n\nAfter docs.",
    "pictures": "Before ![a heron](file:///heron.png) after ![](x.png) ![one](u) ![two](v) the end.",
    "entities": "AT&amp;T &lt;b&gt; caf&eacute; &copy; 2020 &#65; \\*not slanted\\* snake\\_case 2 * 3 * 4 < 5 & 6",
    "lists": "1. one\n2. two 3. three\n   - four * five\n     1) six\n   - seven\n\n10. ten",
    "tables": "| head | **other** |\n|:--|--:|\n| 1 | a `b` |\n| x \\| y | |\n\nAfter the table.",
    "headings": "# One #\n\nTwo words\n=========\n\n---\n\n> quoted\n> > twice\n\nplain",
    "wide": "这是**粗体**文字，好。 👩‍🔬 wide 😀😀 `😀` emoji **é** e\u0301 end\u00a0of",
    "html": "<b>raw</b> <script>alert(1)</script> & more <!-- gone? -->",
    "indented": "Text\n\n    code here\n    more()\n\n- item\n\n  ~~~js\n  let x = [1](2);\n  ~~~\n\n  after it",
    "repeats": "a b b a a b [b](b) b a **a** b b\n\na b\n\n- a\n- b b",
    "sample": SAMPLE,
}


def shown_blocks(source: str) -> list[tuple[str, str, bool, int]]:
    """Source, shown text, whether it is code, and where it begins, of each block as a window shows it."""
    found = []
    for block in blocks(source):
        document = QTextDocument()
        if block.kind == "code":
            document.setPlainText(block.content)
        else:
            document.setHtml(block.content)
        found.append((source[block.start : block.end], document.toPlainText(), block.kind == "code", block.start))
    return found


def check(source: str, shown: str, code: bool = False) -> list[int]:
    """What must hold for any two texts; the places."""
    places = align(source, shown, code)
    assert len(places) == len(shown)
    known = [place for place in places if place >= 0]
    assert known == sorted(set(known))
    assert all(source[place] == sign for place, sign in zip(places, shown, strict=True) if place >= 0)
    return places


def linked(source: str, shown: str, code: bool = False) -> str:
    """The shown text with a dot for what has no source."""
    places = check(source, shown, code)
    return "".join("·" if place < 0 and not sign.isspace() else sign for sign, place in zip(shown, places, strict=True))


@pytest.mark.parametrize("kind", KINDS)
def test_pairs_are_equal_and_in_order(qapp: object, kind: str) -> None:
    """Whatever Markdown it is: a character is only ever tied to the same character, and never backwards."""
    for source, shown, code, _ in shown_blocks(KINDS[kind]):
        places = check(source, shown, code)
        words = [i for i, sign in enumerate(shown) if sign.isalnum()]
        sure = sum(places[i] >= 0 for i in words)
        assert sure >= {"repeats": 0.3, "pictures": 0.4}.get(kind, 0.6) * len(words)


@pytest.mark.parametrize(
    "marked",
    [
        'See [docs«](https://docs.python.org/docs "docs here")» docs, [a«](b)» b c and [r«][docs]» too.',
        "«[docs]: https://docs.org/docs»\n\nAll docs of the org [docs].",
        "Before ![a heron«](file:///heron.png)» heron png and ![«](x.png)» x after.",
        "AT&«amp;»T amp and caf&«eacute;» eacute is not copy, &«copy;» copy",
        "«1.» 1 one\n«2.» two 2. three\n\n   «1)» 1 four",
    ],
)
def test_no_word_is_tied_to_what_is_not_shown(qapp: object, marked: str) -> None:
    """Words that stand in addresses, titles, names and numbers again: the shown one is the one meant."""
    hidden, source, inside = set(), "", False
    for sign in marked:
        inside = sign == "«" or (inside and sign != "»")
        if sign not in "«»":
            hidden |= {len(source)} if inside else set()
            source += sign
    tied = 0
    for part, shown, code, start in shown_blocks(source):
        for place in check(part, shown, code):
            assert place < 0 or start + place not in hidden
            tied += place >= 0
    assert tied > 15


def test_markup_is_left_out() -> None:
    """The characters that are shown are found among their markup, with the signs around them."""
    shown = "Some bold and unbelievable x[0](y) docs docs, AT&T < it."
    source = (
        "Some **bold** and un**believ**able `x[0](y)` [docs](https://docs.python.org/docs) docs, AT&amp;T &lt; _it_."
    )
    assert linked(source, shown) == shown.replace("<", "·")
    places = align(source, shown)
    assert places[shown.index("docs")] == source.index("docs]")
    assert places[shown.rindex("docs")] == source.index("docs,")


def test_pictures_and_numbers_have_no_source() -> None:
    """What the window adds comes from no token."""
    assert linked("![a heron](heron.png) ![](heron) heron", "[picture: a heron] [picture: no description] heron") == (
        "········· a heron· ········· ·· ············ heron"
    )
    places = align("1. 1 one\n2. two", "1 one\ntwo")
    assert places[0] == 3


def test_code_is_exact() -> None:
    """Every character of a code block is tied, also the language's own name and what looks like a link."""
    source = "```print\nprint(a[0](b))\n  # ``` &amp;\n```\n"
    shown = "print(a[0](b))\n  # ``` &amp;"
    assert align(source, shown, True) == list(range(9, 9 + len(shown)))
    inside = "- x\n  ```py\n  def x():\n      return y[0](z)\n  ```\n"
    assert linked(inside, "def x():\n    return y[0](z)", True) == "def x():\n    return y[0](z)"


def test_where_it_cannot_tell_there_is_no_link() -> None:
    """A word that stands twice in the source and once in what is shown may be either."""
    assert linked("a b b c", "a b c") == "a · c"
    assert linked("nothing alike", "quite other words") == "····· ····· ·····"
    assert align("", "x") == [-1]
    assert align("x", "") == []


def test_every_word_of_a_real_reply_is_tied(qapp: object) -> None:
    """In the recorded runs nothing that is shown is left without its token."""
    assert shipped_traces()
    for path in shipped_traces():
        text = load_trace(path).text
        for source, shown, code, _ in shown_blocks(text):
            assert "·" not in linked(source, shown, code)


def test_any_two_texts(qapp: object) -> None:
    """Markup at random: the pairs stay equal and in order, and nothing fails."""
    rng = random.Random(4)
    parts = ["a", "b", " ", "\n", "*", "**", "`", "[", "](", ")", "![", "|", "&amp;", "> ", "- ", "1. ", "😀", "```\n"]
    for _ in range(150):
        text = "".join(rng.choice(parts) for _ in range(rng.randrange(1, 60)))
        for source, shown, code, _ in shown_blocks(text):
            check(source, shown, code)


def test_a_stretch_of_the_source_is_a_stretch_of_what_is_shown() -> None:
    """The words of a round lie side by side, with the markup between them left out."""
    source = "One **two** three"
    made = Alignment(source, "One two three")
    assert made.shown(0, 3) == (0, 3)
    assert made.shown(3, 11) == (3, 7)
    assert made.shown(4, 6) is None


@pytest.mark.alone
def test_a_long_block_takes_a_moment() -> None:
    """It is compared in the window's thread, which must not be held over 50 ms."""
    rng = random.Random(1)
    words = [
        "the",
        "of",
        "**bold**",
        "[docs](https://e.org/docs)",
        "river,",
        "and",
        "fog",
        "`x`",
        "quiet.",
        "\n\n- lamp",
    ]
    source = " ".join(rng.choice(words) for _ in range(3000))
    shown = source.replace("**", "").replace("](https://e.org/docs)", "").replace("[", "").replace("`", "")
    began = time.thread_time()
    places = align(source, shown.replace("- ", ""))
    assert time.thread_time() - began < 0.05 * 4  # the machine that tests may be busy
    assert sum(place >= 0 for place in places) > 0.9 * len(places)
    began = time.thread_time()
    align(source, " ".join(rng.choice(words) for _ in range(3000)))
    assert time.thread_time() - began < 0.05 * 4
    assert set(align("a " * 40_000, "a " * 40_000)) == {-1}
