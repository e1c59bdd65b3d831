import random
import re
import time

import pytest

from app.chat.markdown import Block, Splitter, blocks, language_of, safe_url

SAMPLE = """# Title
Text **b** <b>raw</b> and `a  <b`.

1. one
   ```bash
   pip install x
   ```
   after
2. two
   - nested
     ```py
     x
     ```
3. three

> quote
> ```
> inside
> ```
> more

| a | b |
|---|:-:|
| 1 | 2 |

Setext
======

- loose

- list

  with a paragraph

```python
def unclosed():
    pass
"""


def joined(found: list[Block]) -> list[Block]:
    """Neighbouring text blocks as one: how many widgets hold a text does not matter."""
    out: list[Block] = []
    for block in found:
        if out and block.kind == out[-1].kind == "text":
            out[-1] = Block("text", out[-1].content + block.content)
        else:
            out.append(block)
    return out


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


@pytest.mark.parametrize("seed", range(30))
def test_streaming_ends_like_the_whole_text(seed: int) -> None:
    """Wherever the stream is cut, finished parts and tail give the blocks of the whole text, and none is lost."""
    rng = random.Random(seed)
    splitter, finished, at = Splitter(), [], 0
    while at < len(SAMPLE):
        step = rng.randint(1, 12)
        part = splitter.feed(SAMPLE[at : at + step])
        at += step
        finished += [part] if part else []
    assert "".join(finished) + splitter.tail == SAMPLE
    assert len(finished) > 5
    env: dict[str, object] = {}
    streamed = [b for part in [*finished, splitter.tail] for b in blocks(part, env)]
    assert joined(streamed) == joined(blocks(SAMPLE))


def test_an_open_fence_is_code_at_once_and_its_end_is_never_shown() -> None:
    """Code looks like code from its first line; the closing fence does not flash up."""
    splitter, seen = Splitter(), []
    for character in "\n\n```py\na = `1`\n\nb = 2\n``` \n\nafter":
        splitter.feed(character)
        code = splitter.code()
        if code is not None:
            seen.append(code[1])
            assert code[0] == "py"
    assert all("a = `1`\n\nb = 2\n".startswith(text) for text in seen)
    assert len(seen) > 10
    assert splitter.tail == "after"
    assert splitter.code() is None


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
    splitter = Splitter()
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


@pytest.mark.parametrize("line", ["1. item\n", "- item\n", "| a | b |\n", "words in a line\n", "> quote\n", "[a]: b\n"])
def test_long_blocks_stream_without_parsing_everything_at_every_line(line: str) -> None:
    """The time of a list, table or paragraph grows with its length, not with its square."""
    took = []
    for count in (300, 2400):
        splitter = Splitter()
        start = time.thread_time()
        for _ in range(count):
            splitter.feed(line)
        took.append(time.thread_time() - start)
    assert took[1] < took[0] * 8 * 3 + 0.1
    splitter.feed("\n# Next\n\nlast\n")
    assert splitter.tail == "last\n"


def test_parsing_is_quick_enough_for_every_line_of_a_stream() -> None:
    """A long reply is split while it streams without holding the window: far below a frame per line."""
    splitter, worst = Splitter(), 0.0
    for line in (SAMPLE * 8).splitlines(keepends=True):
        start = time.thread_time()
        splitter.feed(line)
        worst = max(worst, time.thread_time() - start)
    assert worst < 0.05
