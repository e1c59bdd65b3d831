import math
import random
import re
import time
from functools import partial

import pytest
from PySide6.QtCore import QByteArray, QUrl
from PySide6.QtGui import QGuiApplication, QTextDocument

from app.chat.body import REFRESH_MS, MarkdownBody
from app.chat.code_block import CodeBlock
from app.chat.text_block import TextBlock
from app.theme import contrast, theme
from tests.app.chat.test_markdown import SAMPLE


def shown(body: MarkdownBody) -> list[tuple[str, str]]:
    """Kind and text of the blocks, neighbouring texts as one."""
    out: list[tuple[str, str]] = []
    for block in body.blocks():
        if isinstance(block, CodeBlock):
            out.append(("code", block.code))
        elif out and out[-1][0] == "text":
            out[-1] = ("text", out[-1][1] + "\n" + block.toPlainText())
        else:
            out.append(("text", block.toPlainText()))
    return [(kind, text if kind == "code" else re.sub("\n+", "\n", text.strip())) for kind, text in out]


@pytest.mark.parametrize("seed", range(5))
def test_a_streamed_reply_looks_like_a_loaded_one(qtbot, seed: int) -> None:
    """The same blocks with the same words, wherever the stream was cut."""
    rng = random.Random(seed)
    streamed, loaded = MarkdownBody(), MarkdownBody(SAMPLE)
    qtbot.addWidget(streamed)
    qtbot.addWidget(loaded)
    at = 0
    while at < len(SAMPLE):
        step = rng.randint(1, 40)
        streamed.append(SAMPLE[at : at + step])
        at += step
    streamed.finish()
    assert shown(streamed) == shown(loaded)
    assert [w.isVisibleTo(streamed) for w in streamed.blocks()] == [True] * len(streamed.blocks())


def test_finished_blocks_are_never_touched_again(qtbot) -> None:
    """Laying out a long reply again at every word is what makes chat windows slow."""
    body = MarkdownBody()
    qtbot.addWidget(body)
    body.append("First paragraph.\n\n```py\na = 1\n```\n\nThird ")
    first, code = body.blocks()[:2]
    revisions = first.document().revision(), code.view.document().revision()
    for n in range(50):
        body.append(f"word{n} ")
        if n % 10 == 9:
            body.append("\n\n")
    qtbot.wait(300)
    body.finish()
    assert (first.document().revision(), code.view.document().revision()) == revisions
    assert body.blocks()[:2] == [first, code]


def test_the_tail_shows_its_markdown_while_it_grows(qtbot) -> None:
    """Marks of an unfinished paragraph turn into their meaning within a moment, and text goes on after it."""
    body = MarkdownBody()
    qtbot.addWidget(body)
    body.append("Some ")
    (tail,) = body.blocks()
    body.append("**bold** ")
    assert tail.toPlainText() == "Some**bold** "
    qtbot.waitUntil(lambda: tail.toPlainText() == "Some bold", timeout=2000)
    body.append("and more")
    assert "and more" in tail.toPlainText()
    body.finish()
    assert [b.toPlainText() for b in body.blocks()] == ["Some bold and more"]


def test_text_that_comes_seldom_is_laid_out_once(qtbot) -> None:
    """On a machine that is busy, adding words and showing their Markdown a moment later would cost twice."""
    body = MarkdownBody()
    qtbot.addWidget(body)
    body.append("Some **bold** ")
    (tail,) = body.blocks()
    for word in ("*one*", "*two*"):
        qtbot.wait(REFRESH_MS + 60)
        revision = tail.document().revision()
        body.append(word + " ")
        assert tail.toPlainText().endswith(word.strip("*"))
        shown = tail.document().revision()
        assert shown > revision
        qtbot.wait(20)
        assert tail.document().revision() == shown


def test_a_selection_in_the_tail_is_left_alone(qtbot) -> None:
    """Words being marked for copying must not jump away because Markdown is refreshed."""
    body = MarkdownBody()
    qtbot.addWidget(body)
    body.append("Some")
    (tail,) = body.blocks()
    body.append(" **bold** words")
    tail.selectAll()
    qtbot.wait(400)
    assert tail.textCursor().selectedText() == "Some **bold** words"


def test_unclosed_code_is_code_and_closes(qtbot) -> None:
    """An open fence grows in a code block; what follows it is text at once, before its line ends."""
    body = MarkdownBody()
    qtbot.addWidget(body)
    for piece in ("Look:\n", "``", "`python\nx =", " 1\n\ny = 2\n", "``", "`\n", "after"):
        body.append(piece)
    assert shown(body) == [("text", "Look:"), ("code", "x = 1\n\ny = 2"), ("text", "after")]
    assert body.blocks()[1].language == "python"


def test_nothing_is_ever_loaded(qtbot, tmp_path) -> None:
    """Even HTML that got past the escaping could not read a file or call home."""
    block = TextBlock()
    qtbot.addWidget(block)
    picture = tmp_path / "x.png"
    picture.write_bytes(b"x")
    for url in (QUrl.fromLocalFile(str(picture)), QUrl("http://evil.example/x.png"), QUrl("qrc:/x")):
        for kind in QTextDocument.ResourceType:
            assert block.document().resource(kind.value, url) == QByteArray(b" ")
    block.set_html(f'<img src="{QUrl.fromLocalFile(str(picture)).toString()}">')
    block.heightForWidth(300)
    assert block.document().resource(2, QUrl.fromLocalFile(str(picture))) == QByteArray(b" ")


def test_code_is_copied_exactly(qtbot) -> None:
    """No-break spaces, tabs and blank lines are part of the code; the button says that it worked."""
    code = "a\u00a0=\t1\n\n  b"
    body = MarkdownBody(f"```\n{code}\n```")
    qtbot.addWidget(body)
    (block,) = body.blocks()
    block.copy_button.click()
    assert QGuiApplication.clipboard().text() == code
    assert "Copied" in block.copy_button.text()
    qtbot.waitUntil(lambda: block.copy_button.text() == "Copy", timeout=3000)


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_code_can_be_read(qtbot, mode: str) -> None:
    """Every colour of highlighted code stands out from its background; several are used."""
    theme().set_mode(mode)  # type: ignore[arg-type]
    code = '# note\nimport os\n\n@wrap\ndef f(x: int = 0x1F) -> str:\n    """Doc."""\n    return f"{x!r}\\n😀" + "s"\n'
    body = MarkdownBody(f"```python\n{code}```")
    qtbot.addWidget(body)
    (block,) = body.blocks()
    colours = set()
    text = block.view.document().firstBlock()
    while text.isValid():
        iterator = text.begin()
        while not iterator.atEnd():
            colours.add(iterator.fragment().charFormat().foreground().color().name())
            iterator += 1
        text = text.next()
    from PySide6.QtGui import QColor

    assert len(colours) >= 4
    assert min(contrast(QColor(c), theme().color("code")) for c in colours) >= 4.5


def test_the_height_is_the_contents(qtbot) -> None:
    """A block as tall as its text needs no scroll bar of its own, at every width."""
    block = TextBlock()
    qtbot.addWidget(block)
    block.set_plain("word " * 100)
    narrow, wide = block.heightForWidth(200), block.heightForWidth(800)
    assert narrow > wide > 0
    assert block.heightForWidth(200) == narrow
    block.append_plain("word " * 100)
    assert block.heightForWidth(200) > narrow


def test_links_show_their_target_and_open_only_on_open(qtbot, monkeypatch: pytest.MonkeyPatch) -> None:
    """A click shows the address; Cancel is the default; nothing but http, https and mailto gets that far."""
    from app.chat import links

    opened: list[str] = []
    monkeypatch.setattr(links.QDesktopServices, "openUrl", lambda url: opened.append(url.toString()))
    block = TextBlock()
    qtbot.addWidget(block)
    assert links.ask(block, QUrl("file:///etc/passwd")) is None
    assert links.ask(block, QUrl("javascript:alert(1)")) is None
    box = links.ask(block, QUrl("https://a.example/long?x=<b>"))
    assert box is not None
    assert "a.example" in box.informativeText()
    assert box.defaultButton().text().replace("&", "") == "Cancel"
    assert opened == []
    box.defaultButton().click()
    assert opened == []
    box = links.ask(block, QUrl("https://a.example/"))
    assert box is not None
    next(b for b in box.buttons() if b.text() == "Open").click()
    assert opened == ["https://a.example/"]


def test_nested_lists_are_indented_by_level(qtbot) -> None:
    """An outline whose levels all stand at the same place says something else."""
    body = MarkdownBody("1. one\n   - nested\n     - deeper\n2. two\n   1. inside")
    qtbot.addWidget(body)
    (text,) = body.blocks()
    block, seen = text.document().begin(), []
    while block.isValid():
        seen.append((block.text(), block.textList().format().indent()))
        block = block.next()
    assert seen == [("one", 1), ("nested", 2), ("deeper", 3), ("two", 1), ("inside", 2)]


def test_every_line_of_code_adds_the_same_height(on_screen) -> None:
    """A block of one line has no empty place below it."""
    heights = []
    for count in (1, 2, 3):
        block = on_screen(CodeBlock("py"), 400, 200)
        block.set_code("\n".join(["x = 1"] * count), "py")
        heights.append(block.view.height())
    assert heights[1] - heights[0] == heights[2] - heights[1]


@pytest.mark.alone
def test_a_long_word_is_cheap(qtbot) -> None:
    """4,000 letters without a space held the window for 0.15 s: each was a line while the width was not known."""
    html = f"<p>{'abcdefghij' * 400}</p>"
    took = []
    for _ in range(3):
        block = TextBlock()
        qtbot.addWidget(block)
        began = time.thread_time()
        block.set_html(html)
        took.append(time.thread_time() - began)
        assert block.heightForWidth(420) > 20 * block.fontMetrics().height()
    assert min(took) < 0.04


def shows_all(block: TextBlock, width: int) -> bool:
    """Whether it has been laid out at this width and nothing of it is cut off."""
    return block.width() == width and block.verticalScrollBar().maximum() == 0


@pytest.mark.parametrize("widths", [(424,), (640, 424), (300, 640), (640, 300, 500)])
def test_text_has_the_height_it_needs_at_every_width(qtbot, widths: tuple[int, ...]) -> None:
    """A layout remembers the height that was wanted at another width, and must not cut the text there."""
    body = MarkdownBody("W" + "abcdefghij" * 400 + "\n\n" + "some words " * 300)
    qtbot.addWidget(body)
    body.sizeHint()  # asked by every layout before a width is known
    body.show()
    for width in widths:
        body.resize(width, body.heightForWidth(width))
        (block,) = body.blocks()
        assert isinstance(block, TextBlock)
        qtbot.waitUntil(partial(shows_all, block, width), timeout=1000)
        assert block.height() == math.ceil(block.document().size().height())


@pytest.mark.parametrize(("level", "scale"), [(1, 1.35), (2, 1.2), (3, 1.1), (4, 1.0), (5, 1.0), (6, 1.0)])
def test_headings_are_as_large_as_they_are_meant(level: int, scale: float, on_screen) -> None:
    """Qt scales its own heading tags once more: the largest shouted at twice the text's size, the fifth whispered."""
    body = on_screen(MarkdownBody(f"{'#' * level} Heading\n\ntext"), 500, 200)
    document = body.blocks()[0].document()
    heading, text = (document.findBlockByNumber(n) for n in (0, 1))
    lines = [block.layout().lineAt(0).height() for block in (heading, text)]
    assert lines[0] / lines[1] == pytest.approx(scale, abs=0.06)
    assert heading.begin().fragment().charFormat().fontWeight() > 500
