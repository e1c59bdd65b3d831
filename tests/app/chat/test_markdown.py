import random
import re

import pytest

from app.chat.block_splitter import BlockSplitter
from app.chat.markdown import Block, blocks, language_of, safe_url
from tests.app.chat.markdown_sample import SAMPLE


def test_code_in_lists_has_a_block_of_its_own_and_numbers_go_on() -> None:
    """Every code block needs its Copy button; the list around it must still count 1, 2, 3."""
    found = blocks(SAMPLE)
    assert [(b.content, b.language, b.indent) for b in found if b.kind == "code"] == [
        ("pip install x", "bash", 1),
        ("x", "py", 2),
        ("inside", "", 0),
        ("def unclosed():\n    pass", "python", 0),
    ]
    html = "".join(b.content for b in found if b.kind == "text")
    assert '<ol start="2"><li>two' in html
    assert '<ol start="3"><li>three' in html


@pytest.mark.parametrize("block", blocks(SAMPLE), ids=lambda b: b.kind)
def test_html_is_balanced(block: Block) -> None:
    """Containers broken around code are closed and opened again in pairs."""
    if block.kind == "text":
        open_tags: list[str] = []
        for slash, tag in re.findall(r"<(/?)(\w+)[^>]*>", block.content):
            if slash:
                assert open_tags.pop() == tag
            elif tag not in ("br", "hr"):
                open_tags.append(tag)
        assert not open_tags


HOSTILE = {
    "script": "<script>alert(1)</script>",
    "image html": '<img src="file:///etc/passwd">',
    "image": "![secret](http://evil.example/?q=1)",
    "image in link": "[![x](http://evil.example/a.png)](http://ok.example)",
    "data": "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "javascript": "[x](javascript:alert%281%29) [y](JaVaScRiPt:alert) <javascript:alert(1)>",
    "file": "[x](file:///etc/passwd) <file:///etc/passwd>",
    "quote": '[x](http://a.example/"onmouseover="alert(1)) `"><b>`',
    "style": '<style>*{display:none}</style><a style="x" href="http://a">x</a>',
    "entity": "&lt;script&gt; &#60;b&#62;",
    "table": "| <b>a</b> |\n|:--|\n| ![x](http://e) |",
    "html block": "<div onclick='x'>\n<table><tr>\n</div>",
    "link title": '[x](http://a.example "t<b>")',
}
ALLOWED = re.compile(
    r"</?(?:p|em|strong|s|code|i|ul|ol|li|blockquote|h[1-6]|table|thead|tbody|tr|th|td|a)>|<br>|<hr>"
    r'|<a href="(?:https?|mailto):[^"<>]*">|<ol start="\d+">|<t[hd] style="text-align:(?:left|right|center)">'
    r'|<table cellspacing="0" cellpadding="5" border="1">'
)


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_comes_out_harmless(name: str) -> None:
    """Only tags from a short list, no attribute but the ones written here, no picture."""
    for block in blocks(HOSTILE[name]):
        assert block.kind == "text"
        rest = ALLOWED.sub("", block.content)
        assert "<" not in rest
        assert ">" not in rest


@pytest.mark.parametrize("seed", range(40))
def test_random_text_comes_out_harmless(seed: int) -> None:
    """The same for text that nobody thought of, whole and streamed; parsing never fails."""
    rng = random.Random(seed)
    pieces = [
        "<",
        ">",
        "&",
        '"',
        "`",
        "```",
        "\n",
        "\n\n",
        "[",
        "](",
        ")",
        "!",
        "http://a",
        "file:",
        "*",
        "_",
        "~",
        "|",
    ]
    pieces += ["- ", "1. ", "> ", "    ", "#", "<b>", "---", "\\", "\0", "é", "😀", "a", " ", ":"]
    text = "".join(rng.choice(pieces) for _ in range(rng.randint(5, 150)))
    splitter = BlockSplitter()
    finished = [splitter.feed(c) for c in text]
    assert "".join(finished) + splitter.tail == text
    splitter.code()
    for part in (text, *finished, splitter.tail):
        for block in blocks(part):
            if block.kind == "text":
                assert "<" not in ALLOWED.sub("", block.content)


@pytest.mark.parametrize(
    ("url", "safe"),
    [
        ("https://a.example/x?y=1#z", True),
        ("http://a", True),
        ("mailto:a@b.example", True),
        ("HTTPS://A.example", True),
        ("javascript:alert(1)", False),
        ("file:///etc/passwd", False),
        ("data:text/html,x", False),
        ("ftp://a", False),
        ("//a.example", False),
        ("a.html", False),
        ("https:", False),
        ("http://[bad", False),
        ("\x01javascript:x", False),
        ("", False),
    ],
)
def test_which_links_may_open(url: str, safe: bool) -> None:
    """http, https and mailto with a target; nothing else."""
    assert bool(safe_url(url)) is safe


def test_language_names() -> None:
    """The word after the fence, in the forms models write it."""
    found = [language_of(info) for info in ("python", "{.python}", "python title=x", "", "c++")]
    assert found == ["python", "python", "python", "", "c++"]


@pytest.mark.parametrize("text", ["> " * 500 + "x", "- " * 500 + "x", "[a]: http://b.example <"])
def test_no_text_is_ever_swallowed(text: str) -> None:
    """What Markdown would not show is shown as written, escaped."""
    (block,) = blocks(text)
    assert "x" in block.content
    assert "<" not in ALLOWED.sub("", block.content)
